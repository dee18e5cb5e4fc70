"""The parts that have to do with the data plane: how much proxies are told, what they carry."""

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
from bench.dataplane.figures import Reading, Scale, Told, Traffic
from bench.dataplane.load import Load
from bench.dataplane.proxies import EGRESS, GATEWAY
from bench.kernel import allow_files
from bench.progress import Progress
from bench.trial import Failed
from isthmus.envoy.process import VERSION

SPARE = 4096  # files beside those of listeners
PATIENCE = 900.0  # seconds for one proxy to be told everything, and then of each change


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one part measures."""

    sizes: tuple[int, ...] = ()  # ports on one proxy
    rounds: int = 1
    seconds: float = 1.0  # of one load on one way
    loads: tuple[Load, ...] = ()


def tell(plan: Plan) -> Told:
    """Tell one proxy of each role about so many ports."""
    load = os.getloadavg()[0]
    most = fitting(max(plan.sizes), allow_files(max(plan.sizes) + SPARE))
    missing = {
        f"egress with {ports:,} ports": f"a process may not have as many files here; {most:,} are"
        for ports in plan.sizes
        if ports > most
    }
    turns = [
        *((GATEWAY, ports) for ports in plan.sizes),
        *((EGRESS, ports) for ports in dict.fromkeys(min(most, ports) for ports in plan.sizes)),
    ]
    progress = Progress("proxies told", len(turns) * plan.rounds)
    found: list[Scale] = []
    for role, ports in trial.in_turn(turns, plan.rounds):
        command = [sys.executable, "-m", "bench.dataplane.scale", role, str(ports)]
        try:
            said = trial.run(command, patience=PATIENCE)
        except Failed as error:
            missing[f"{role} with {ports:,} ports"] = str(error)
        else:
            found.append(msgspec.json.decode(said.encode(), type=Scale))
        progress.step(f"{role}, {ports}")
    found.sort(key=lambda one: (one.ports, one.role != GATEWAY))
    return Told(
        machine=results.machine(),
        date=_today(),
        versions={"Envoy": VERSION},
        load=load,
        scales=tuple(found),
        missing=missing,
    )


def fitting(ports: int, files: int) -> int:
    """Return of how many ports an egress can be told, which has a listener for each."""
    return ports if ports + SPARE <= files else (files - SPARE) // 1000 * 1000


def carry(plan: Plan) -> Traffic:
    """Offer these loads to every way."""
    missing = traffic.missing()
    load = os.getloadavg()[0]
    readings: Sequence[Reading] = ()
    if traffic.ALL not in missing:
        with tempfile.TemporaryDirectory() as folder:
            wanted = traffic.Plan(rounds=plan.rounds, seconds=plan.seconds, loads=plan.loads)
            readings, failed = asyncio.run(traffic.measure(wanted, Path(folder)))
            missing |= failed
    return Traffic(
        machine=results.machine(),
        date=_today(),
        versions={"Envoy": VERSION, **pairs.versions()},
        load=load,
        readings=tuple(readings),
        missing=missing,
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
