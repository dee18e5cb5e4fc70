"""Finds the shortest story that still goes wrong in the same way."""

from collections.abc import Callable
from dataclasses import replace

from tests.sim.play import Outcome, Story
from tests.sim.steps import Step

MOST = 250  # plays of one search


def shortest(told: Story, play: Callable[[Story], Outcome], rule: str) -> Story:
    """Leave out steps, in halves at first and one by one in the end, as long as it goes wrong.

    Any failure of the same rule counts: how it is worded depends on details that go as well.
    """
    plays = 0

    def fails(steps: tuple[Step, ...]) -> bool:
        nonlocal plays
        plays += 1
        return plays <= MOST and play(replace(told, steps=steps)).rule == rule

    steps = told.steps
    size = max(1, len(steps) // 2)
    while True:
        at, before = 1, len(steps)  # the first step is the world itself
        while at < len(steps):
            without = steps[:at] + steps[at + size :]
            if fails(without):
                steps = without
            else:
                at += size
        if size == 1 and len(steps) == before:
            break
        size = max(1, size // 2)
    return replace(told, steps=_calmer(steps, fails))


def _calmer(steps: tuple[Step, ...], fails: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    """Let pauses that do not matter go, too."""
    for at, step in enumerate(steps):
        if at and step.wait > 0:
            without = (*steps[:at], step._replace(wait=0.0), *steps[at + 1 :])
            if fails(without):
                steps = without
    return steps
