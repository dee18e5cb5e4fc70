"""Schedules that once found a bug, played again for ever."""

import asyncio
from random import Random

import pytest

from tests.sim.reflection import play, schedule
from tests.support.virtual import VirtualLoop


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(14, id="a timer that fires early must not make the reflector spin"),
    ],
)
def test_a_schedule_that_failed_once_passes_now(seed: int) -> None:
    random = Random(seed)
    steps = schedule(random)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play(steps, seed=seed, streaming=random.random() < 0.5))
