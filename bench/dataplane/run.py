"""One run: how much each proxy can be told, then every way under every load."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import results, trial
from bench.dataplane import pairs, traffic
from bench.dataplane.figures import Dataplane, Reading, Scale
from bench.dataplane.proxies import EGRESS, GATEWAY
from bench.progress import Progress
from isthmus.envoy.process import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run measures."""

    ports: int
    rounds: int
    seconds: float  # of one load on one way


def run(plan: Plan) -> Dataplane:
    missing = traffic.missing()
    load = os.getloadavg()[0]
    scales = _scales(plan)
    readings: Sequence[Reading] = ()
    if traffic.ALL not in missing:
        with tempfile.TemporaryDirectory() as folder:
            wanted = traffic.Plan(rounds=plan.rounds, seconds=plan.seconds)
            readings, failed = asyncio.run(traffic.measure(wanted, Path(folder)))
            missing |= failed
    return Dataplane(
        machine=results.machine(),
        date=datetime.now(UTC).date().isoformat(),
        versions={"Envoy": VERSION, **pairs.versions()},
        load=load,
        scales=scales,
        readings=tuple(readings),
        missing=missing,
    )


def _scales(plan: Plan) -> tuple[Scale, ...]:
    roles = (GATEWAY, EGRESS)
    progress = Progress("scale measurements", len(roles) * plan.rounds)
    found = []
    for role in trial.in_turn(roles, plan.rounds):
        command = [sys.executable, "-m", "bench.dataplane.scale", role, str(plan.ports)]
        found.append(msgspec.json.decode(trial.run(command).encode(), type=Scale))
        progress.step(role)
    return tuple(found)
