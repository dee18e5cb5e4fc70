"""A node's programs: started in order, started again, and held down while somebody says so."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.node.keeping import PAUSE, Keeper
from lab.process import Process, Supervisor


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    """Two programs, the second of which needs the first; the first is ready when a file says so."""
    (tmp_path / "held").mkdir()
    first = Process(
        name="first", argv=("/bin/sleep", "60"), ready=lambda: (tmp_path / "ready").exists()
    )
    second = Process(name="second", argv=("/bin/sleep", "60"), ready=lambda: True, needs=("first",))
    supervisor = Supervisor(tmp_path)
    yield Keeper((first, second), supervisor, tmp_path / "held")
    supervisor.stop_all()


def states(keeper: Keeper) -> tuple[str, ...]:
    return tuple(seen.state for seen in keeper.seen.values())


def settle(keeper: Keeper, folder: Path) -> None:
    (folder / "ready").touch()
    for _ in range(3):
        keeper.look(0.0)
    assert states(keeper) == ("ready", "ready")


def test_nothing_starts_before_what_it_needs_is_ready(keeper: Keeper, tmp_path: Path) -> None:
    for _ in range(2):
        keeper.look(0.0)
    assert states(keeper) == ("starting", "waiting")
    settle(keeper, tmp_path)


def test_what_ends_is_started_again_but_not_at_once(keeper: Keeper, tmp_path: Path) -> None:
    settle(keeper, tmp_path)
    os.kill(keeper.seen["second"].pid, signal.SIGKILL)
    while keeper.supervisor.is_alive("second"):
        time.sleep(0.01)
    keeper.look(PAUSE / 2)
    assert states(keeper) == ("ready", "waiting")
    keeper.look(PAUSE)
    assert states(keeper) == ("ready", "starting")
    assert keeper.seen["second"].starts == 2


def test_what_is_held_is_killed_and_stays_down_until_it_is_released(
    keeper: Keeper, tmp_path: Path
) -> None:
    settle(keeper, tmp_path)
    (tmp_path / "held" / "first").touch()
    for now in (PAUSE, 2 * PAUSE):
        keeper.look(now)
        assert states(keeper) == ("held", "ready"), "others go on, as they would in a crash"
        assert not keeper.supervisor.is_alive("first")
    (tmp_path / "held" / "first").unlink()
    keeper.look(3 * PAUSE)
    assert states(keeper) == ("starting", "ready")
