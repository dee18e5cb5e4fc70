"""The Kubernetes edge beside its peers: lists, watches and imports, on a real kube-apiserver."""

import asyncio
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import peers, results, seed, tables, trial
from bench.edge_goals import verdicts
from bench.lineup import CONTENDERS, IMPORTS, Contender
from bench.meter import Listing, Watching
from bench.report import Report, machine
from bench.results import Results
from bench.target import Target
from lab.build import build
from lab.controlplane import control_plane
from lab.versions import CONTROL_PLANE, ETCD, KUBERNETES

EVENTS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run measures; ``only`` names contenders, none of them means all."""

    objects: int
    rounds: int
    only: tuple[str, ...] = ()


def report(found: Results) -> Report:
    """Report on everyone who took part."""
    rounds = max(map(len, found.listings.values()), default=0)
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}; median of {rounds} interleaved "
            f"runs (lowest … highest). Peers: {versions or 'none'}."
        ),
        tables=(tables.listings(found), tables.watches(found), tables.imports(found)),
        verdicts=verdicts(found),
        missing=found.missing,
    )


def run(plan: Plan) -> Results:
    """Let everyone list, watch and be imported."""
    wanted = [one for one in CONTENDERS if not plan.only or one.name in plan.only]
    why = peers.install()
    able = [contender for contender in wanted if not (why and contender.package)]
    build(CONTROL_PLANE)
    with _server(plan) as target:
        asyncio.run(seed.fill(target))
        target = dataclasses.replace(target, since=asyncio.run(seed.update(target)))
        watchers = [contender for contender in able if contender.watches]
        watches, silent = trial.measure(Watching, watchers, target, plan.rounds)
        listings, absent = trial.measure(Listing, able, target, plan.rounds)
    # Not before the server has gone, for it would take its share of such small figures.
    imports, unloadable = trial.measure_imports(_modules(why), plan.rounds)
    packages = frozenset(contender.package for contender in able) - {""}
    return Results(
        machine=results.machine(KUBERNETES, ETCD),
        date=datetime.now(UTC).date().isoformat(),
        objects=plan.objects,
        events=EVENTS,
        versions=peers.versions(packages) if packages else {},
        listings=listings,
        watches=watches,
        imports=imports,
        missing={
            **_absent(wanted, able, why),
            **absent,
            **{f"{name}, watch": why for name, why in silent.items()},
            **unloadable,
        },
    )


def _absent(wanted: list[Contender], able: list[Contender], why: str | None) -> dict[str, str]:
    return {contender.name: str(why) for contender in wanted if contender not in able}


def _modules(why: str | None) -> tuple[tuple[str, Path], ...]:
    return tuple(
        (module, peers.PYTHON if package else Path(sys.executable))
        for module, package in IMPORTS
        if not (why and package)
    )


@contextmanager
def _server(plan: Plan) -> Iterator[Target]:
    """A fresh control plane, and the one file that consumers want beside its address."""
    with control_plane() as plane, tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "kubeconfig")
        config.touch(mode=0o600)
        config.write_text(json.dumps(plane.kubeconfig()))
        yield Target(
            url=plane.url,
            ca_file=str(plane.papers.ca_file),
            token=plane.admin_token,
            kubeconfig=str(config),
            since="",
            events=EVENTS,
            objects=plan.objects,
        )
