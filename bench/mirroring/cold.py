"""From nothing to everything mirrored: by the controller, and by the floor."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.kernel import processor_seconds
from bench.meter import memory
from bench.mirroring.clusters import server, source, stored
from bench.mirroring.controller import controller
from bench.mirroring.figures import Round, Sync
from bench.mirroring.floor import Cost, Job, Post
from bench.mirroring.replay import written
from bench.trial import Failed, run
from lab.controlplane import ControlPlane
from lab.versions import API_SERVER

SETTLE = 2.0  # seconds until what is kept in memory is looked at


def patience(services: int) -> float:
    """Return how many seconds so many Services may take: ten times what they should."""
    return 120 + services / 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A target that exports so many Services, and a private folder."""

    west: ControlPlane
    services: int
    folder: Path


class Cold:
    """Measures both sides in turn. The floor writes what the controller has written first."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._groups: tuple[tuple[Post, ...], ...] = ()

    def rounds(self, count: int) -> tuple[Round, ...]:
        return tuple(self._round(number) for number in range(count))

    def _round(self, number: int) -> Round:
        load = os.getloadavg()[0]
        sides: tuple[Callable[[], Sync], ...] = (self.ours, self.floor)
        # Each goes first every other time; in the first round the floor has nothing to write yet.
        first, second = (side() for side in (sides if number % 2 == 0 else sides[::-1]))
        ours, floor = (first, second) if number % 2 == 0 else (second, first)
        return Round(ours=ours, floor=floor, load=load)

    def ours(self) -> Sync:
        """Run the controller until everything is mirrored."""
        trial = self._trial
        with source(trial.west) as east:
            wanted = stored(east, "endpointslices") + trial.services
            api = east.supervisor.pid(API_SERVER.name)
            before = processor_seconds(api)
            with controller(east, trial.folder) as running:
                wall = running.until(
                    "everything mirrored",
                    (lambda: stored(east, "endpointslices") >= wanted)
                    if trial.services
                    else running.has_settled,
                    patience(trial.services),
                )
                sync = Sync(
                    wall=wall,
                    leading=running.leading(),
                    cpu=processor_seconds(running.pid),
                    server_cpu=processor_seconds(api) - before,
                )
                time.sleep(SETTLE)
                sync = replace(
                    sync, peak=memory("VmHWM", running.pid), kept=memory("VmRSS", running.pid)
                )
            self._groups = asyncio.run(written(east))
        if len(self._groups) != trial.services:
            raise Failed(f"{len(self._groups)} of {trial.services} Services are mirrored")
        return sync

    def floor(self) -> Sync:
        """Let the bare client write the same."""
        trial = self._trial
        with source(trial.west) as east:
            job = Job(east=server(east), west=server(trial.west), groups=self._groups)
            path = trial.folder / "write.json"
            path.touch(mode=0o600)
            path.write_bytes(msgspec.json.encode(job))
            api = east.supervisor.pid(API_SERVER.name)
            before = processor_seconds(api)
            command = [sys.executable, "-m", "bench.mirroring.floor", "write", str(path)]
            started = time.monotonic()
            said = run(command, patience=patience(trial.services))
            wall = time.monotonic() - started
            cost = msgspec.json.decode(said, type=Cost)
            return Sync(
                wall=wall,
                leading=wall - cost.wall,
                cpu=cost.cpu,
                server_cpu=processor_seconds(api) - before,
            )
