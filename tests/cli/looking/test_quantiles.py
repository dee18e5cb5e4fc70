"""How long most calls took, told from a histogram."""

from bisect import bisect_left
from math import ceil, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.looking.quantiles import quantile

BOUNDS = (0.5, 1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, inf)  # as Envoy has them
SHARES = st.floats(0, 1)
VALUES = st.lists(st.floats(0, 5000), min_size=1, max_size=200)


def histogram(values: list[float]) -> dict[float, float]:
    return {bound: float(sum(one <= bound for one in values)) for bound in BOUNDS}


def bucket(value: float) -> tuple[float, float]:
    """Between which bounds a value lies."""
    place = bisect_left(BOUNDS, value)
    return (BOUNDS[place - 1] if place else 0.0), BOUNDS[place]


@pytest.mark.parametrize(
    "share, below, expected",
    [
        pytest.param(0.5, {10: 0, inf: 0}, None, id="nothing"),
        pytest.param(0.5, {}, None, id="not even buckets"),
        pytest.param(0.5, {10: 100, inf: 100}, 5.0, id="half of one bucket"),
        pytest.param(1.0, {10: 100, inf: 100}, 10.0, id="all of one bucket"),
        pytest.param(0.0, {10: 0, 20: 100, inf: 100}, 10.0, id="where the first bucket begins"),
        pytest.param(0.5, {10: 50, 20: 100, inf: 100}, 10.0, id="at a bound"),
        pytest.param(0.75, {10: 50, 20: 100, inf: 100}, 15.0, id="within the second"),
        pytest.param(0.95, {10: 90, 20: 90, 30: 100, inf: 100}, 25.0, id="beyond an empty one"),
        pytest.param(0.99, {10: 50, inf: 100}, 10.0, id="beyond all bounds"),
        pytest.param(0.5, {10: 0, inf: 7}, 10.0, id="all beyond all bounds"),
        pytest.param(0.5, {10: 6, 20: 4, 30: 12, inf: 12}, 10.0, id="counts that do not add up"),
    ],
)
def test_quantiles(share: float, below: dict[float, float], expected: float | None) -> None:
    assert quantile(share, below) == expected


def test_a_known_distribution_is_met_closely() -> None:
    """A thousand values, spread evenly from 0 to 100."""
    below = histogram([number / 10 for number in range(1000)])
    for share in (0.1, 0.5, 0.9, 0.95, 0.99):
        assert quantile(share, below) == pytest.approx(share * 100, abs=0.2)


def test_a_long_tail_shows_in_the_last_quantile_only() -> None:
    below = histogram([2.0] * 980 + [700.0] * 20)
    p50, p95, p99 = (quantile(share, below) or 0.0 for share in (0.5, 0.95, 0.99))
    assert 1.0 < p50 <= p95 <= 5.0
    assert 500.0 < p99 <= 1000.0


@given(values=VALUES, share=SHARES)
def test_it_lies_in_the_bucket_in_which_the_true_one_lies(
    values: list[float], share: float
) -> None:
    found = quantile(share, histogram(values))
    assert found is not None
    true = sorted(values)[max(0, ceil(share * len(values)) - 1)]
    lower, upper = bucket(true)
    assert lower <= found <= upper
    if upper == inf:
        assert found == lower


@given(values=VALUES, first=SHARES, second=SHARES)
def test_a_greater_share_has_no_smaller_value(
    values: list[float], first: float, second: float
) -> None:
    below = histogram(values)
    smaller, larger = (quantile(one, below) or 0.0 for one in sorted((first, second)))
    assert smaller <= larger


@given(values=VALUES, share=SHARES, pods=st.integers(1, 5))
def test_two_pods_that_counted_the_same_say_the_same_together(
    values: list[float], share: float, pods: int
) -> None:
    alone = histogram(values)
    together = {bound: count * pods for bound, count in alone.items()}
    assert quantile(share, together) == pytest.approx(quantile(share, alone))
