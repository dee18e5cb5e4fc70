"""A lab that is killed, half started or whole, leaves nothing that `down` does not remove."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lab import running, wire
from lab.clusters import NORTH
from lab.node import boot
from lab.showing import remains
from lab.stage import Stage, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("stage")]


@pytest.fixture(autouse=True)
def after() -> Iterator[None]:
    yield
    running.down((NORTH,))


def left() -> list[str]:
    """What is there of north; east and west are in use."""
    found = [f"process {pid}" for pid, _ in boot.processes(NORTH)]
    found += [name for name in remains() if NORTH.name in name]
    return found + ([str(NORTH.folder)] if NORTH.folder.exists() else [])


def test_a_start_that_was_killed_is_removed_and_the_next_one_succeeds(stage: Stage) -> None:
    command = [sys.executable, "-m", "lab", "up", "north"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as starting:
        until(lambda: running.programs(NORTH), bool)
        starting.kill()
    assert left(), "nothing was started, so nothing is shown"
    running.down((NORTH,))
    assert left() == []
    running.up((NORTH,))
    assert stage.names("north", "nodes") == ["north"]


def test_when_the_first_process_of_a_node_is_killed_all_others_die_with_it() -> None:
    running.up((NORTH,))
    first = boot.first_process(NORTH)
    assert first is not None
    assert boot.contained(NORTH, ["/coredns"]), "a container, too, is among them"
    os.kill(first, signal.SIGKILL)
    until(lambda: list(boot.processes(NORTH)), [].__eq__, within=10)
    assert boot.contained(NORTH, ["/coredns"]) == []
    until(lambda: wire.exists(wire.cable(NORTH)), False.__eq__, within=10)
    running.down((NORTH,))
    assert left() == []
