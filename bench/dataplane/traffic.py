"""Every path from a caller to one server, under the same loads, in turn."""

import asyncio
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.dataplane import load, mesh, pairs
from bench.dataplane.figures import Reading
from bench.dataplane.load import Load
from bench.dataplane.proxies import EGRESS, GATEWAY, controller, proxy
from bench.dataplane.ways import BYTES, DIRECT, OURS, REQUESTS, named
from bench.kernel import processor_seconds
from bench.progress import Progress
from bench.trial import Failed, in_turn
from isthmus.model.routes import EgressRoutes, GatewayRoutes, Place, Protocol
from isthmus.xds import egress, gateway, secrets
from isthmus.xds.names import OWN_FILE, Site
from isthmus.xds.resources import Resource, Resources, together
from isthmus.xds.snapshot import snapshot

ALL = "traffic"
CALLER, ACCOUNT = "127.0.0.1", "shop/cart"  # where the generator calls from, and who it is
SERVICES: dict[str, tuple[int, Protocol]] = {BYTES: (0, "tcp"), REQUESTS: (1, "http")}
PATIENCE = 60.0
NUMBERS = re.compile(r"^ *\d+ +\d+ +(\d+) *$", re.M)
REST = 1 / 3  # of a load's time is between two of them, for what is left of the first


@dataclass(frozen=True, slots=True)
class Way:
    """One way to the server: by its name, where it begins, and the proxies on it."""

    name: str
    place: str
    processes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    rounds: int
    seconds: float  # of one load on one way
    loads: Sequence[Load] = load.CALLS


def missing() -> dict[str, str]:
    """Say what cannot be measured on this machine, and why."""
    whole = load.missing() or pairs.missing(pairs.NGINX)
    if whole:
        return {ALL: whole}
    return {f"{one.name} pair": why for one in pairs.PAIRS if (why := pairs.missing(one))}


async def measure(plan: Plan, folder: Path) -> tuple[tuple[Reading, ...], dict[str, str]]:
    """Offer every load to every way, one after the other, in another order each round.

    Return the figures, and what has none because calls failed.
    """
    found, failed = [], {}
    async with _ways(folder) as ways:
        turns = [(way, one) for way in ways for one in plan.loads]
        progress = Progress("traffic measurements", len(turns) * plan.rounds)
        for number, (way, one) in enumerate(in_turn(turns, plan.rounds)):
            try:
                found.append(await _read(way, one, plan.seconds, number // len(turns)))
            except Failed as error:
                failed[f"{way.name}, {one.name}"] = str(error)
            progress.step(f"{way.name}, {one.name}")
            await asyncio.sleep(plan.seconds * REST)
    order = [(one.name, way.name) for one in plan.loads for way in ways]
    found.sort(key=lambda one: order.index((one.load, one.path)))
    return tuple(found), failed


class Count(NamedTuple):
    """How many requests the server has had, and what the proxies have used, at one moment."""

    moment: float
    requests: int
    cpu: float


async def _read(way: Way, one: Load, seconds: float, number: int) -> Reading:
    """Offer a load; count all of it, or what comes when all connections are there."""
    if one.is_slow_to_start:
        offered = asyncio.create_task(asyncio.to_thread(load.offer, one, way.place, 2 * seconds))
        try:
            await asyncio.sleep(seconds)
            before = await _count(way)
            await asyncio.sleep(seconds * 0.9)
            after = await _count(way)
        finally:
            said = await offered  # or it would last into the next load
        # The server has counted our second question, too.
        calls = after.requests - before.requests - 1
        took = after.moment - before.moment
    else:
        before = await _count(way)
        said = await asyncio.to_thread(load.offer, one, way.place, seconds)
        after = await _count(way)
        calls, took = said.requests, said.seconds
    if not calls:
        raise Failed(f"no call was answered in {took:.1f} s")
    return Reading(
        path=way.name,
        load=one.name,
        round=number,
        seconds=took,
        calls=calls,
        carried=calls * one.carries,
        p50=said.p50,
        p99=said.p99,
        p999=said.p999,
        cpu=after.cpu - before.cpu,
        failed=said.failed,
    )


async def _count(way: Way) -> Count:
    url = f"http://{mesh.PODS_AT}:{pairs.SERVER_PORT}/status"
    requests = handled(await asyncio.to_thread(fetched, url))
    return Count(time.perf_counter(), requests, sum(map(processor_seconds, way.processes)))


def fetched(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError as error:
        raise Failed(f"the server does not say how many requests it has had: {error}") from None


def handled(status: str) -> int:
    """Return how many requests nginx says that it has had: the last of three numbers in a row."""
    found = NUMBERS.search(status)
    if found is None:
        raise Failed(f"the server's status says nothing about requests: {status[:100]!r}")
    return int(found[1])


@asynccontextmanager
async def _ways(folder: Path) -> AsyncIterator[list[Way]]:
    """Start everything; who has nothing to do costs nothing."""
    with pairs.running(folder) as running:
        running.server()
        ways = [Way(DIRECT, f"{mesh.PODS_AT}:{pairs.SERVER_PORT}")]
        for pair in pairs.PAIRS:
            if pairs.missing(pair) is None:
                processes = running.pair(pair)
                for kind, port in ((BYTES, pair.tcp), (REQUESTS, pair.http)):
                    place = f"{mesh.EGRESS_AT}:{port}"
                    ways.append(Way(named(pair.name, kind), place, processes))
        async with _ours(folder) as processes:
            for kind, (number, _) in SERVICES.items():
                place = f"{mesh.EGRESS_AT}:{mesh.outbound(number, 'tcp').listener}"
                ways.append(Way(named(OURS, kind), place, processes))
            yield ways


@asynccontextmanager
async def _ours(folder: Path) -> AsyncIterator[tuple[int, ...]]:
    told = {GATEWAY: snapshot(_gateway()), EGRESS: snapshot(_egress())}
    async with (
        controller() as told_by,
        proxy(GATEWAY, told_by, folder) as west,
        proxy(EGRESS, told_by, folder) as east,
    ):
        for role, wanted in told.items():
            await told_by.tell(role, wanted, PATIENCE)
        assert west.pid is not None
        assert east.pid is not None
        yield west.pid, east.pid


def _gateway() -> Resources:
    place = Place(address=mesh.PODS_AT, port=pairs.SERVER_PORT)
    served = (mesh.inbound(number, protocol, place) for number, protocol in SERVICES.values())
    site = Site(address=mesh.GATEWAY_AT, own=OWN_FILE)
    return _with_anchors(gateway.gateway(GatewayRoutes(inbound=tuple(served)), site))


def _egress() -> Resources:
    carried = (mesh.outbound(number, protocol) for number, protocol in SERVICES.values())
    routes = EgressRoutes(outbound=tuple(carried), peers=(mesh.peer(),), callers={CALLER: ACCOUNT})
    return _with_anchors(egress.egress(routes, mesh.EGRESS_AT), mesh.account(ACCOUNT))


def _with_anchors(resources: Resources, *more: Resource) -> Resources:
    flat = (one for named in resources.values() for one in named.values())
    return together([*flat, secrets.anchors(mesh.anchors().pem()), *more])
