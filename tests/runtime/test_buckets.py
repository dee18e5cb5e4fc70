"""Token buckets: nobody gets more than their rate, and everybody gets that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.runtime.buckets import Buckets, Rate

RATE = Rate(burst=5, per_second=2)


def test_a_burst_is_allowed_and_then_the_rate() -> None:
    buckets: Buckets[str] = Buckets(RATE)
    assert [buckets.take("a", 0.0) for _ in range(5)] == [0.0] * 5
    assert buckets.take("a", 0.0) == pytest.approx(0.5)
    assert buckets.take("a", 0.25) == pytest.approx(0.25)
    assert buckets.take("a", 0.5) == 0.0
    assert buckets.take("a", 0.5) > 0


def test_whoever_is_told_to_wait_is_served_after_waiting() -> None:
    buckets: Buckets[str] = Buckets(RATE)
    now = 0.0
    for _ in range(50):
        wait = buckets.take("a", now)
        if wait:
            now += wait
            assert buckets.take("a", now + 1e-9) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 2)), min_size=1, max_size=60),
)
def test_no_key_gets_more_than_burst_and_rate_over_any_time(steps: list[tuple[str, float]]) -> None:
    buckets: Buckets[str] = Buckets(RATE)
    now = 0.0
    taken: dict[str, list[float]] = {"a": [], "b": []}
    for key, pause in steps:
        now += pause
        if buckets.take(key, now) == 0.0:
            taken[key].append(now)
    for times in taken.values():
        for first, begin in enumerate(times):
            for last, end in enumerate(times[first:], start=first):
                assert last - first + 1 <= RATE.burst + RATE.per_second * (end - begin) + 1e-6


def test_those_who_are_quiet_take_no_memory_and_many_are_bounded() -> None:
    buckets: Buckets[int] = Buckets(RATE, most=100)
    for key in range(1000):
        buckets.take(key, 0.0)
    assert len(buckets) == 100
    buckets.take(0, 10.0)
    assert len(buckets) == 1
