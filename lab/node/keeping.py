"""Keeps a node's programs running, as systemd would, except those that somebody holds down."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab.process import Process, Supervisor

PERIOD = 0.2  # seconds between two looks
PAUSE = 1.0  # seconds before a program that ended is started again


@dataclass(slots=True)
class Seen:
    """What is known of one program; written for `lab status` after every change."""

    state: str = "waiting"  # waiting, starting, ready or held
    starts: int = 0
    pid: int = 0  # as the node counts


@dataclass(slots=True)
class Keeper:
    """One look at a time: start what should run, end what should not."""

    processes: Sequence[Process]
    supervisor: Supervisor
    held: Path
    seen: dict[str, Seen] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)

    def look(self, now: float) -> None:
        for process in self.processes:
            self._attend(process, self.seen.setdefault(process.name, Seen()), now)

    def _attend(self, process: Process, seen: Seen, now: float) -> None:
        name = process.name
        if (self.held / name).exists():
            if self.supervisor.is_alive(name):
                self.supervisor.crash(name)
            seen.state, seen.pid = "held", 0
        elif self.supervisor.is_alive(name):
            if seen.state == "starting" and process.ready():
                seen.state = "ready"
        elif now >= self._not_before.get(name, 0.0) and self._are_ready(process.needs):
            self.supervisor.launch(process)
            self._not_before[name] = now + PAUSE
            seen.state, seen.pid = "starting", self.supervisor.pid(name)
            seen.starts += 1
        else:
            seen.state, seen.pid = "waiting", 0

    def _are_ready(self, needs: Sequence[str]) -> bool:
        return all(self.seen[need].state == "ready" for need in needs)


def keep(keeper: Keeper, status: Path) -> None:
    """Look for ever."""
    written = ""
    while True:
        keeper.look(time.monotonic())
        text = json.dumps({name: asdict(seen) for name, seen in keeper.seen.items()})
        if text != written:
            unfinished = status.with_suffix(".new")
            unfinished.write_text(text)
            unfinished.replace(status)
            written = text
        time.sleep(PERIOD)
