"""``python -m bench``: the Kubernetes edge, mirroring and the data plane, beside others."""

import argparse
import asyncio
import dataclasses
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import document, peers, results, seed, trial
from bench.dataplane import figures as dataplane_figures
from bench.dataplane import report as dataplane_report
from bench.dataplane import run as dataplane
from bench.lineup import CONTENDERS, IMPORTS, Contender
from bench.meter import Listing, Watching
from bench.mirroring import figures, report
from bench.mirroring import run as mirroring
from bench.results import Results
from bench.target import Target
from isthmus.model.errors import IsthmusError
from lab.build import build
from lab.controlplane import control_plane
from lab.versions import CONTROL_PLANE, ETCD, KUBERNETES

NAME = "kube-edge"
MIRRORING = "mirroring"
DATAPLANE = "dataplane"
RECORDED = peers.ROOT / "bench" / "results"
DOCUMENT = peers.ROOT / "docs" / "performance.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run measures."""

    contenders: tuple[Contender, ...]
    modules: tuple[tuple[str, Path], ...]
    missing: dict[str, str]
    objects: int
    events: int
    rounds: int


def main() -> int:
    arguments = _parser().parse_args()
    whole = not arguments.quick and not arguments.only
    # A terminated run ends its servers and removes their data, as an interrupted one does.
    # Shells let background jobs ignore Ctrl-C, which is no reason to ignore that they are ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not arguments.render:
        _warn_if_busy()
    try:
        if not arguments.only or not set(arguments.only) <= {MIRRORING, DATAPLANE}:
            _edge(arguments, whole)
        if not arguments.only or MIRRORING in arguments.only:
            _mirroring(arguments)
        if not arguments.only or DATAPLANE in arguments.only:
            _dataplane(arguments)
    except IsthmusError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _edge(arguments: argparse.Namespace, whole: bool) -> None:
    recorded = RECORDED / (f"{NAME}.json" if whole else f"{NAME}.partial.json")
    if not arguments.render:
        results.write(_run(_plan(arguments)), recorded)
    found = results.read(recorded)
    print(document.terminal(found))
    if whole:
        document.replace_section(DOCUMENT, NAME, document.markdown(found))
    print(f"recorded in {recorded.relative_to(peers.ROOT)}", file=sys.stderr)


def _mirroring(arguments: argparse.Namespace) -> None:
    sizes = arguments.sizes or ((200,) if arguments.quick else (1000, 5000))
    whole = not arguments.quick and sizes[0] >= 1000
    recorded = RECORDED / (f"{MIRRORING}.json" if whole else f"{MIRRORING}.partial.json")
    if not arguments.render:
        plan = mirroring.Plan(
            sizes=sizes,
            rounds=1 if arguments.quick else arguments.runs,
            samples=100 if whole else 20,
            rest=60.0 if whole else 10.0,
        )
        figures.write(mirroring.run(plan), recorded)
    found = figures.read(recorded)
    print(report.terminal(found))
    if whole:
        document.replace_section(DOCUMENT, MIRRORING, report.markdown(found))
    print(f"recorded in {recorded.relative_to(peers.ROOT)}", file=sys.stderr)


def _dataplane(arguments: argparse.Namespace) -> None:
    whole = not arguments.quick
    recorded = RECORDED / (f"{DATAPLANE}.json" if whole else f"{DATAPLANE}.partial.json")
    if not arguments.render:
        plan = dataplane.Plan(
            ports=5000 if whole else 200,
            rounds=arguments.runs if whole else 1,
            seconds=4.0 if whole else 2.0,
        )
        dataplane_figures.write(dataplane.run(plan), recorded)
    found = dataplane_figures.read(recorded)
    print(dataplane_report.terminal(found))
    if whole:
        document.replace_section(DOCUMENT, DATAPLANE, dataplane_report.markdown(found))
    print(f"recorded in {recorded.relative_to(peers.ROOT)}", file=sys.stderr)


def _warn_if_busy() -> None:
    """Say beforehand that the figures will not be worth much, rather than let them surprise."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(
            f"this machine is busy (load {load:.1f} on {cores} cores): "
            "believe memory and CPU, not wall times",
            file=sys.stderr,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [*(contender.name for contender in CONTENDERS), MIRRORING, DATAPLANE]
    parser.add_argument("--quick", action="store_true", help="a tenth of the objects, no document")
    parser.add_argument("--only", action="append", choices=names, help="may be repeated")
    parser.add_argument("--runs", type=int, default=5, help="of everyone, in turn (default: 5)")
    parser.add_argument(
        "--sizes", type=_sizes, help="Services to mirror, growing (default: 1000,5000)"
    )
    parser.add_argument("--render", action="store_true", help="write the last run down again")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(one) for one in text.split(",")}))


def _plan(arguments: argparse.Namespace) -> Plan:
    wanted = [c for c in CONTENDERS if not arguments.only or c.name in arguments.only]
    why = peers.install()
    able = [contender for contender in wanted if not (why and contender.package)]
    return Plan(
        contenders=tuple(able),
        modules=tuple(
            (module, peers.PYTHON if package else Path(sys.executable))
            for module, package in IMPORTS
            if not (why and package)
        ),
        missing={contender.name: str(why) for contender in wanted if contender not in able},
        objects=1000 if arguments.quick else 10000,
        events=2000,
        rounds=arguments.runs,
    )


def _run(plan: Plan) -> Results:
    build(CONTROL_PLANE)
    watchers = [contender for contender in plan.contenders if contender.watches]
    with _server(plan) as target:
        asyncio.run(seed.fill(target))
        target = dataclasses.replace(target, since=asyncio.run(seed.update(target)))
        watches, silent = trial.measure(Watching, watchers, target, plan.rounds)
        listings, absent = trial.measure(Listing, plan.contenders, target, plan.rounds)
    # Not before the server has gone, for it would take its share of such small figures.
    imports, unloadable = trial.measure_imports(plan.modules, plan.rounds)
    packages = frozenset(contender.package for contender in plan.contenders) - {""}
    return Results(
        machine=results.machine(KUBERNETES, ETCD),
        date=datetime.now(UTC).date().isoformat(),
        objects=plan.objects,
        events=plan.events,
        versions=peers.versions(packages) if packages else {},
        listings=listings,
        watches=watches,
        imports=imports,
        missing={
            **plan.missing,
            **absent,
            **{f"{name}, watch": why for name, why in silent.items()},
            **unloadable,
        },
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
            events=plan.events,
            objects=plan.objects,
        )


if __name__ == "__main__":
    sys.exit(main())
