"""What members say of themselves is read as it was written, and nothing else is."""

from datetime import UTC, datetime, timedelta

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


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "null", '{"a": 1}', '{"a": {"at": "yesterday"}}'),
        pytest.param("[" * 100_000, id="bottomless"),
        pytest.param('{"\ud800": 1}', id="half a character"),
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadReports, match="not the reports of a controller"):
        reports.read(text)


START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
BOTH, NEW = frozenset(("new", "old")), frozenset(("new",))


def said(name: str, after: int, trusts: frozenset[str], *chains_to: str) -> str:
    report = Report(START + after * SECOND, trusts, frozenset(chains_to))
    return reports.written({name: report})


@pytest.mark.parametrize(
    "data, expected",
    [
        pytest.param({"a_1": said("p", 9, BOTH, "new")}, None, id="half of it"),
        pytest.param({"a_1.own": said("p", 9, BOTH, "new")}, None, id="the other half"),
        pytest.param(
            {"a_1": said("p", 9, BOTH, "new"), "b_2.own": said("p", 5, BOTH, "old")},
            Report(START + 5 * SECOND, BOTH, BOTH),
            id="both, from two replicas",
        ),
        pytest.param(
            {"a_1": said("p", 9, BOTH), "a_1.own": said("p", 5, NEW, "new")},
            None,
            id="halves that do not agree",
        ),
        pytest.param(
            {
                "a_1": said("p", 3, NEW),
                "b_2": said("p", 9, BOTH, "new"),
                "a_1.own": said("p", 8, BOTH, "new"),
                "b_2.own": said("p", 2, NEW, "old"),
                "c_3": "nonsense",
            },
            Report(START + 8 * SECOND, BOTH, NEW),
            id="the latest of each",
        ),
    ],
)
def test_two_halves_are_a_proxys_report(data: dict[str, str], expected: Report | None) -> None:
    assert reports.news(data).of_proxy("p") == expected


def test_nobody_speaks_for_a_controller_but_itself() -> None:
    found = reports.news({"a_1": said("b", 9, NEW), "b_2": said("b", 3, BOTH, "old")})
    assert found.of_controller("b") == Report(START + 3 * SECOND, BOTH, frozenset(("old",)))
    assert found.of_controller("a") is None
