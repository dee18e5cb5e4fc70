"""One run: the sizes in turn, then single changes and a restart among the mirrors."""

import asyncio
import compileall
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import isthmus
from bench import results
from bench.mirroring.clusters import export, server, source, stored, target
from bench.mirroring.cold import Cold, Trial, patience
from bench.mirroring.controller import controller
from bench.mirroring.figures import Changes, Mirroring, Restart, Size
from bench.mirroring.latency import Stretch, changes, following
from bench.mirroring.restart import restart
from bench.progress import Progress
from lab.build import build
from lab.controlplane import ControlPlane
from lab.versions import CONTROL_PLANE, ETCD, KUBERNETES

STATUS = 12.0  # seconds: as long as the status of a link may wait for work that goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run measures; ``sizes`` grow."""

    sizes: tuple[int, ...]
    rounds: int
    samples: int  # of single changes, for each side
    rest: float  # seconds without any change


def run(plan: Plan) -> Mirroring:
    build(CONTROL_PLANE)
    # As it is where it was installed; a checkout may be forbidden to keep what it has compiled.
    compileall.compile_dir(Path(isthmus.__file__).parent, quiet=1)
    progress = Progress("mirroring measurements", len(plan.sizes) + 3)
    sizes: list[Size] = []
    settled: tuple[Changes, Restart] | None = None
    with target() as west, tempfile.TemporaryDirectory() as folder:
        empty = Cold(_trial(west, 0, folder)).ours().kept
        progress.step("a controller with nothing to do")
        for services in plan.sizes:
            filled = sizes[-1].services if sizes else 0
            asyncio.run(export(west, range(filled, services)))
            trial = _trial(west, services, folder)
            sizes.append(Size(services=services, rounds=Cold(trial).rounds(plan.rounds)))
            progress.step(f"{services} Services")
            if settled is None:
                settled = _settled(trial, plan)
                progress.step("single changes, restart and rest")
        assert settled is not None, "there is at least one size"
        busy = _busy(_trial(west, plan.sizes[-1], folder), plan)
        progress.step("single changes while others are mirrored")
    return Mirroring(
        machine=results.machine(KUBERNETES, ETCD),
        date=datetime.now(UTC).date().isoformat(),
        empty=empty,
        sizes=tuple(sizes),
        idle=settled[0],
        busy=busy,
        restart=settled[1],
    )


def _trial(west: ControlPlane, services: int, folder: str) -> Trial:
    return Trial(west=west, services=services, folder=Path(folder))


def _settled(trial: Trial, plan: Plan) -> tuple[Changes, Restart]:
    """Measure where all mirrors are in place."""
    with source(trial.west) as east:
        wanted = stored(east, "endpointslices") + trial.services
        stretch = Stretch(begin=trial.services, end=inf, samples=plan.samples)
        with controller(east, trial.folder) as running, following(trial, east):
            running.until(
                "everything mirrored",
                lambda: stored(east, "endpointslices") >= wanted,
                patience(trial.services),
            )
            found = asyncio.run(changes(server(trial.west), server(east), stretch))
            time.sleep(STATUS)
        return found, restart(trial, east, plan.rest)


def _busy(trial: Trial, plan: Plan) -> Changes:
    """Measure while mirrors are made, from a tenth of them to the last."""
    stretch = Stretch(begin=trial.services // 10, end=trial.services, samples=plan.samples)
    with (
        source(trial.west) as east,
        following(trial, east),
        controller(east, trial.folder),
    ):
        return asyncio.run(changes(server(trial.west), server(east), stretch))
