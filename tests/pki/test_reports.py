"""What members say of themselves is read as it was written, and nothing else is."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.pki import reports
from isthmus.pki.reports import BadReports
from isthmus.pki.seen import Report

_FINGERPRINTS = st.frozensets(st.text("0123456789abcdef", min_size=1), max_size=3)
_REPORTS = st.builds(
    Report,
    st.datetimes(timezones=st.just(UTC)),
    _FINGERPRINTS,
    _FINGERPRINTS,
)


@given(st.dictionaries(st.text(), _REPORTS, max_size=4))
def test_what_is_written_is_read(found: dict[str, Report]) -> None:
    assert reports.read(reports.written(found)) == found


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a": 1}', '{"a": {"at": "yesterday"}}'])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadReports, match="not the reports of a controller"):
        reports.read(text)
