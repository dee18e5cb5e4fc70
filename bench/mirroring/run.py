"""The parts that have to do with mirroring, each of which can be measured without the others."""

import asyncio
import compileall
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

import isthmus
from bench import results
from bench.mirroring import peer, storm
from bench.mirroring.clusters import export, export_pods, linked, server, source, target
from bench.mirroring.cold import Cold, Trial, Wanted, patience, wanted
from bench.mirroring.controller import LOOK, controller
from bench.mirroring.figures import Changes, Growing, Latency, Restarts, Size
from bench.mirroring.latency import Samples, Stretch, changes, following
from bench.mirroring.peer import Peer
from bench.mirroring.restart import floor, restart
from bench.mirroring.targets import targets
from bench.progress import Progress
from bench.trial import Failed
from lab.build import build
from lab.controlplane import ControlPlane
from lab.versions import CONTROL_PLANE, ETCD, KUBERNETES

STATUS = 12.0  # seconds: as long as the status of a link may wait for work that goes on
EACH = 20  # exports of each of many targets
STORM = 100.0  # changes a second
SHORT_PAUSE = 0.03  # seconds between two changes, where the time for them is short
IDLE, STORMY, BUSY = "idle", "in a storm", "in a cold start"

Filled: TypeAlias = Callable[[int, int], AbstractContextManager[Trial]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one part measures; ``sizes`` grow."""

    sizes: tuple[int, ...]
    rounds: Mapping[int, int] = field(default_factory=dict)  # by size
    samples: int = 0  # of single changes, for each side
    rest: float = 0.0  # seconds without any change
    peers: tuple[Peer, ...] = ()


def cold(plan: Plan) -> Growing:
    """Mirror so many exported Services from nothing."""
    with _folder() as folder, target() as west:

        @contextmanager
        def filled(before: int, count: int) -> Iterator[Trial]:
            asyncio.run(export(west, range(before, count)))
            yield Trial(targets=(linked(west),), mirrors=count, folder=folder)

        return _growing(plan, filled)


def pods(plan: Plan) -> Growing:
    """Mirror one headless Service with so many named pods from nothing."""
    with _folder() as folder, target() as west:

        @contextmanager
        def filled(before: int, count: int) -> Iterator[Trial]:
            if count:
                asyncio.run(export_pods(west, range(before, count)))
            there = linked(west, has_pods=True)
            # Each pod has a mirror, and so has the Service itself.
            yield Trial(targets=(there,), mirrors=count + bool(count), folder=folder)

        return _growing(plan, filled)


def links(plan: Plan) -> Growing:
    """Mirror the few Services of each of so many targets from nothing."""
    with _folder() as folder:

        @contextmanager
        def filled(_: int, count: int) -> Iterator[Trial]:
            with targets(max(count, 1), EACH if count else 0) as found:
                yield Trial(targets=found, mirrors=EACH * count, folder=folder)

        return _growing(plan, filled)


def changing(plan: Plan) -> Latency:
    """Change single Services: at rest, in a storm of other changes, and in a cold start."""
    (mirrors,) = plan.sizes
    load = os.getloadavg()[0]
    missing: dict[str, str] = {}
    rounds = plan.rounds[mirrors]
    progress = Progress("measurements of single changes", 1 + rounds + len(plan.peers))
    with _folder() as folder, target() as west:
        asyncio.run(export(west, range(mirrors)))
        trial = Trial(targets=(linked(west),), mirrors=mirrors, folder=folder)
        calm, rough, rate = _calm_and_rough(trial, west, plan)
        progress.step(f"{mirrors} mirrors, idle and in a storm")
        others: dict[str, tuple[Samples, Samples]] = {}
        for one in plan.peers:
            try:
                others[one.name] = _calm_and_rough(trial, west, plan, one)[:2]
            except Failed as error:
                missing[one.name] = str(error)
            progress.step(one.name)
        busy = Samples()
        for _ in range(rounds):
            busy = busy.plus(_busy(trial, west, plan))
            progress.step("while others are mirrored")
    return Latency(
        machine=results.machine(KUBERNETES, ETCD),
        date=datetime.now(UTC).date().isoformat(),
        load=load,
        mirrors=mirrors,
        storm=rate,
        stretches=(
            _changes(IDLE, calm, {name: one for name, (one, _) in others.items()}),
            _changes(STORMY, rough, {name: one for name, (_, one) in others.items()}),
            _changes(BUSY, busy, {}),
        ),
        missing=missing,
    )


def restarting(plan: Plan) -> Restarts:
    """Start a controller where everything is mirrored already."""
    progress = Progress("restarts", len(plan.sizes))
    found = []
    with _folder() as folder, target() as west:
        before = 0
        for mirrors in plan.sizes:
            asyncio.run(export(west, range(before, mirrors)))
            before = mirrors
            trial = Trial(targets=(linked(west),), mirrors=mirrors, folder=folder)
            with source(trial.targets) as east:
                everything = wanted(east, mirrors)
                with controller(east, folder):
                    _until(everything, east, patience(mirrors))
                    time.sleep(STATUS)
                bare = floor(west, east, trial)
                found.append(replace(restart(trial, east, plan.rest), floor=bare))
            progress.step(f"{mirrors} mirrors")
    return Restarts(machine=results.machine(KUBERNETES, ETCD), each=tuple(found))


def _growing(plan: Plan, filled: Filled) -> Growing:
    progress = Progress("cold starts", len(plan.sizes) + 1)
    with filled(0, 0) as trial:
        empty = Cold(trial).ours()
    progress.step("a controller with nothing to do")
    sizes: list[Size] = []
    missing: dict[str, str] = {}
    for count in plan.sizes:
        with filled(sizes[-1].count if sizes else 0, count) as trial:
            side_by_side = Cold(trial, plan.peers)
            sizes.append(
                Size(
                    count=count,
                    mirrors=trial.mirrors,
                    date=datetime.now(UTC).date().isoformat(),
                    rounds=side_by_side.rounds(plan.rounds[count]),
                )
            )
            missing |= side_by_side.missing
        progress.step(f"{count}")
    machine = results.machine(KUBERNETES, ETCD)
    return Growing(machine=machine, empty=empty, sizes=tuple(sizes), missing=missing)


def _calm_and_rough(
    trial: Trial, west: ControlPlane, plan: Plan, other: Peer | None = None
) -> tuple[Samples, Samples, float]:
    """Measure where all mirrors are in place; return how hard it has stormed, too."""
    there = server(west)
    stretch = Stretch(begin=trial.mirrors, end=inf, samples=plan.samples)
    blowing = storm.Job(west=there, services=trial.mirrors, rate=STORM)
    with source(trial.targets) as east, following(west, east, trial.folder):
        everything = wanted(east, trial.mirrors)
        with _mirroring(other, east, trial):
            _until(everything, east, 10 * patience(trial.mirrors))
            calm = asyncio.run(changes(there, server(east), stretch))
            with storm.storm(blowing, trial.folder) as blown:
                rough = asyncio.run(changes(there, server(east), stretch))
                return calm, rough, blown.rate


def _busy(trial: Trial, west: ControlPlane, plan: Plan) -> Samples:
    """Measure while mirrors are made, from a tenth of them to the last."""
    stretch = Stretch(
        begin=trial.mirrors // 10, end=trial.mirrors, samples=plan.samples, pause=SHORT_PAUSE
    )
    with (
        source(trial.targets) as east,
        following(west, east, trial.folder),
        controller(east, trial.folder),
    ):
        return asyncio.run(changes(server(west), server(east), stretch))


def _mirroring(
    other: Peer | None, east: ControlPlane, trial: Trial
) -> AbstractContextManager[object]:
    if other is None:
        return controller(east, trial.folder)
    return peer.running(other, east, trial.targets[0], trial.folder)


def _until(everything: Wanted, east: ControlPlane, within: float) -> None:
    deadline = time.monotonic() + within
    while not everything.is_there(east):
        if time.monotonic() > deadline:
            raise Failed(f"not everything is mirrored after {within:.0f} s")
        time.sleep(LOOK)


def _changes(when: str, own: Samples, others: Mapping[str, Samples]) -> Changes:
    return Changes(
        when=when,
        ours=own.mirror,
        floor=own.floor,
        peers={name: one.mirror for name, one in others.items()},
    )


@contextmanager
def _folder() -> Iterator[Path]:
    """Have everything there that is run, and a place for its files."""
    build(CONTROL_PLANE)
    # As it is where it was installed; a checkout may be forbidden to keep what it has compiled.
    compileall.compile_dir(Path(isthmus.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
