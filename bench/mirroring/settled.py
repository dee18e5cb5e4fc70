"""Where everything is mirrored already: single changes, restarts and rest."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from math import inf

from msgspec.structs import replace

from bench import results
from bench.mirroring import peer, storm
from bench.mirroring.clusters import export, linked, server, source, target
from bench.mirroring.cold import Trial, patience, wanted
from bench.mirroring.controller import controller
from bench.mirroring.figures import Changes, Latency, Restarts
from bench.mirroring.latency import Samples, Stretch, changes, following
from bench.mirroring.peer import Peer
from bench.mirroring.plan import Plan, ground
from bench.mirroring.restart import floor, restart
from bench.progress import Progress
from bench.trial import Failed
from lab.controlplane import ControlPlane
from lab.versions import ETCD, KUBERNETES

STATUS = 12.0  # seconds: as long as the status of a link may wait for work that goes on
STORM = 100.0  # changes a second
SHORT_PAUSE = 0.03  # seconds between two changes, where the time for them is short
IDLE, STORMY, BUSY = "idle", "in a storm", "in a cold start"


def changing(plan: Plan) -> Latency:
    """Change single Services: at rest, in a storm of other changes, and in a cold start."""
    (mirrors,) = plan.sizes
    load = os.getloadavg()[0]
    missing: dict[str, str] = {}
    rounds = plan.rounds[mirrors]
    progress = Progress("measurements of single changes", 1 + rounds + len(plan.peers))
    with ground() as folder, target() as west:
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
    with ground() as folder, target() as west:
        before = 0
        for mirrors in plan.sizes:
            asyncio.run(export(west, range(before, mirrors)))
            before = mirrors
            trial = Trial(targets=(linked(west),), mirrors=mirrors, folder=folder)
            with source(trial.targets) as east:
                everything = wanted(east, mirrors)
                with controller(east, folder):
                    everything.looks(east, somehow=True).wait(patience(mirrors))
                    time.sleep(STATUS)
                bare = floor(west, east, trial)
                found.append(replace(restart(trial, east, plan.rest), floor=bare))
            progress.step(f"{mirrors} mirrors")
    return Restarts(each=tuple(found))


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
            everything.looks(east, somehow=True).wait(10 * patience(trial.mirrors))
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


def _changes(when: str, own: Samples, others: Mapping[str, Samples]) -> Changes:
    return Changes(
        when=when,
        ours=own.mirror,
        floor=own.floor,
        peers={name: one.mirror for name, one in others.items()},
    )
