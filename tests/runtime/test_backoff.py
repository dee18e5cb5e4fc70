"""Waits grow, end at their cap, and are never in step."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.runtime.backoff import Backoff, Retries

BACKOFF = Backoff(first=0.5, cap=60)


@pytest.mark.parametrize(
    "failures, longest",
    [
        pytest.param(1, 0.5, id="the first wait is short"),
        pytest.param(2, 1.0, id="then it doubles"),
        pytest.param(7, 32.0, id="again and again"),
        pytest.param(8, 60.0, id="up to the cap"),
        pytest.param(10**9, 60.0, id="where it stays without overflowing"),
    ],
)
def test_the_ceiling_grows_to_the_cap(failures: int, longest: float) -> None:
    assert BACKOFF.ceiling(failures) == longest


@given(failures=st.integers(1, 10_000), seed=st.integers())
def test_a_wait_lies_between_nothing_and_its_ceiling(failures: int, seed: int) -> None:
    assert 0 <= BACKOFF.wait(failures, Random(seed)) <= BACKOFF.ceiling(failures)


def test_two_clients_that_fail_together_do_not_return_together() -> None:
    assert BACKOFF.wait(5, Random(1)) != BACKOFF.wait(5, Random(2))


def test_a_reset_starts_over_with_short_waits() -> None:
    retries = Retries(BACKOFF, Random(7))
    for _ in range(20):
        retries.failed()
    retries.reset()
    assert retries.failed() <= BACKOFF.first
