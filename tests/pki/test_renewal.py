from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.pki.renewal import renew_at

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@given(st.floats(0, 1, exclude_max=True))
def test_a_leaf_of_a_day_is_renewed_around_its_sixteenth_hour(jitter: float) -> None:
    at = renew_at(NOW, NOW + DAY, jitter)
    assert timedelta(hours=14) < at - NOW < timedelta(hours=18)


@pytest.mark.parametrize(
    "jitter, hours", [(0.0, 14.4), (0.5, 16.0), (1.0, 17.6)], ids=["earliest", "middle", "latest"]
)
def test_renewals_are_spread(jitter: float, hours: float) -> None:
    at = renew_at(NOW, NOW + DAY, jitter)
    assert (at - NOW) / timedelta(hours=1) == pytest.approx(hours)
