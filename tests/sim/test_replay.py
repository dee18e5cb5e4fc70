"""Schedules that once found a bug, played again for ever; and that the simulation finds any."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest

from tests.sim import kept
from tests.sim.layout import Joint, Layout
from tests.sim.mutations import BUGS, built_in
from tests.sim.play import Story, play, story
from tests.sim.reflection import play as reflect
from tests.sim.reflection import schedule
from tests.sim.steps import Step
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
        runner.run(reflect(steps, seed=seed, streaming=random.random() < 0.5))


def sim(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command, in a process whose sets of words have one order."""
    return subprocess.run(
        [sys.executable, "-m", "tests.sim", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


def test_schedules_that_are_kept_pass() -> None:
    done = sim("kept")
    assert done.returncode == 0, done.stdout
    assert f"{len(kept.stories())} passed, 0 failed" in done.stdout


def test_a_schedule_named_after_no_bug_that_can_be_built_in_fails() -> None:
    assert "no bug" in kept.wrong_with("something that nobody can build in", story("3"))


@pytest.mark.parametrize("bug", sorted(BUGS))
def test_every_bug_can_still_be_built_in(bug: str) -> None:
    """It is put in by name, and names change."""
    with built_in(bug):
        pass


def test_a_few_schedules_pass_and_say_what_was_in_them() -> None:
    done = sim("--seeds", "3", "--workers", "1")
    assert done.returncode == 0, done.stdout
    assert "3 passed, 0 failed" in done.stdout
    assert "faults injected: " in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("bug", ["ownership not checked", "user's edits are left"])
def test_a_bug_that_is_built_in_is_found(bug: str) -> None:
    done = sim("--workers", "1", "mutations", "--only", bug, "--limit", "120")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "schedules, by " in done.stdout


def test_the_same_seed_is_the_same_play() -> None:
    told = story("3")
    once, again = (play(told, lines=True) for _ in range(2))
    assert once.lines
    assert once.lines == again.lines
    assert once.wrong == again.wrong == ""
    assert play(replace(told, seed="another"), lines=True).lines != once.lines


def test_what_comes_to_nothing_is_not_counted_as_a_fault() -> None:
    layout = Layout((Joint("west", "api", "envoy", True),), (("west", "default/web"),), 1)
    steps = (
        Step("begin", wait=6.0),
        Step("fault", "east-a>west", "410 in a list", 3),  # there is one page only
        Step("fault", "east-a>east", "writes delayed", 3),
        Step("crash after", "east-a", "", 40),  # that many are not written
        Step("unexport", "west", "default/api"),  # is not there
        Step("catalogue", "west", "", 1),  # is not read
        Step("delete mirror", "east", "", 0, 6.0),
    )
    found = play(Story("1", layout, steps))
    assert found.wrong == ""
    assert found.injected.keys() == {"fault: writes delayed", "delete mirror"}
    assert found.injected["delete mirror"] == 1
    assert {fault for fault, _ in found.pairs} == found.injected.keys()


def test_a_story_is_written_down_and_read_again() -> None:
    for seed in range(40):
        told = story(str(seed))
        assert kept.read(kept.written(told)) == told
