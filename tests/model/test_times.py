"""Times and durations that are none, whatever they look like."""

import pytest

from isthmus.model.times import parsed, seconds


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("2030-01-01T00:00:00", id="without a zone"),
        pytest.param("0001-01-01T00:00:00+23:59", id="before the first year"),
        pytest.param("9999-12-31T23:59:59-23:59", id="after the last year"),
    ],
)
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


@pytest.mark.parametrize("text", ["9" * 400 + "s", "9" * 5000 + "h"])
def test_a_duration_without_end_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        seconds(text)
