"""A list that lacks much is not believed before another one says the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import generate_latest

from isthmus.apps.controller.carrying.doubting import Doubting
from isthmus.apps.controller.metrics import registry
from isthmus.apps.controller.outside import Outside
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Matches
from isthmus.kube.client import Client
from isthmus.kube.reflect import Source
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS, untyped
from isthmus.kube.transport import Request
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put
from tests.apps.clusters import (
    GRANTS,
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    furnish,
    join,
    place,
    source,
)
from tests.support.waiting import eventually

PODS = untyped("v1", "Pod", "pods", namespaced=True)


def config(number: int) -> ConfigMap:
    labels = {"mine": "true"}
    metadata = Metadata(namespace="default", name=f"one-{number}", labels=labels)
    return ConfigMap(metadata=metadata)


class Believer:
    """Acts upon what it is told, beside a cluster in which ``stored`` objects really exist."""

    def __init__(self, stored: int) -> None:
        self.client = Client(Cluster("east").transport())
        self.stored = stored
        self.cache: Cache[Key, ConfigMap] = Cache(lambda one: one.metadata.key)
        source = Source(self.client, CONFIG_MAPS, Selection(labels="mine"))
        self.doubting = Doubting(source, Outside(client=self.client), self.fold)
        self.told: set[int] = set()  # how much was known after each event

    def fold(self, event: Event[Key, ConfigMap]) -> None:
        self.cache.fold(event)
        self.told.add(self.known)

    @property
    def known(self) -> int:
        return len(self.cache.objects)

    def tell_of(self, count: int) -> None:
        self.doubting.fold(Listed(tuple(config(number) for number in range(count))))


@asynccontextmanager
async def believer(stored: int) -> AsyncIterator[Believer]:
    made = Believer(stored)
    for number in range(stored):
        await made.client.create(CONFIG_MAPS, config(number))
    running = asyncio.create_task(made.doubting.run())
    yield made
    running.cancel()
    await asyncio.wait({running})


async def test_an_empty_list_takes_nothing_away_if_it_was_wrong() -> None:
    async with believer(20) as made:
        made.tell_of(20)
        made.tell_of(0)
        assert (made.known, made.doubting.held) == (20, 20)
        await eventually(lambda: made.doubting.held == 0)
        assert made.known == 20


async def test_an_empty_list_is_believed_when_it_is_said_twice() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(0)
        assert made.known == 20
        await eventually(lambda: made.doubting.held == 0)
        assert made.told == {20, 0}  # never a part of it, which nobody could see through


async def test_a_few_losses_are_believed_at_once() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(16)
        assert (made.known, made.doubting.held) == (16, 0)


async def test_a_watch_is_believed_at_once() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        for number in range(20):
            made.doubting.fold(Gone(Key("default", f"one-{number}")))
        assert (made.known, made.doubting.held) == (0, 0)


async def test_what_is_held_and_then_seen_or_gone_is_held_no_longer() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(0)
        made.doubting.fold(Put(config(3)))
        made.doubting.fold(Gone(Key("default", "one-4")))
        assert (made.known, made.doubting.held) == (19, 18)
        await eventually(lambda: made.doubting.held == 0)
        assert set(made.cache.objects) == {Key("default", "one-3")}


async def test_no_second_list_is_no_confirmation() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        await made.client.close()
        made.tell_of(0)
        await asyncio.sleep(30)
        assert (made.known, made.doubting.held) == (20, 20)


def listing(plural: str) -> Matches:
    def matches(request: Request) -> bool:
        return request.path.endswith(f"/{plural}") and ("watch", "true") not in request.query

    return matches


async def relist(one: Place) -> None:
    """Let every watch start over with a list."""
    await one.create(PLAIN_NAMESPACES, {"metadata": {"name": "any"}})
    one.cluster.faults.compact()
    one.cluster.faults.disconnect()


@pytest.mark.parametrize("plural", ["grants", "services", "endpointslices"])
async def test_one_empty_list_ends_nothing_that_a_gateway_serves(plural: str) -> None:
    west = place("west")
    await furnish(west)
    for number in range(8):
        await west.create(SERVICES, exported(f"web-{number}"))
        await west.create(SLICES, endpoints(f"web-{number}", "10.2.0.1"))
    grant = {"metadata": {"name": "east"}, "spec": {"cluster": "east"}}
    await west.create(GRANTS, grant)
    async with controlling(west) as running:
        exporting = running.controller.exporting
        await eventually(lambda: len(exporting.inbound) == 8)
        before = dict(exporting.inbound)
        told: list[frozenset[Key]] = []
        exporting.tell(told.append)
        for times in (1, 2):  # the second one is the second list's, of a server that errs longer
            west.cluster.faults.add(effects.empty_list(), listing(plural), times=times)
            await relist(west) if times == 1 else west.cluster.faults.disconnect()
            await asyncio.sleep(30)
            assert dict(exporting.inbound) == before
        assert told == []


@pytest.mark.parametrize("plural", ["pods", "services", "endpointslices", "links"])
async def test_one_empty_list_ends_nothing_that_an_egress_carries(plural: str) -> None:
    east, west = await source(), place("west", 1)
    for number in range(8):
        await west.create(SERVICES, exported(f"web-{number}"))
        await west.create(SLICES, endpoints(f"web-{number}", "10.2.0.1"))
        await run_pod(east, f"curl-{number}", f"10.244.0.{number + 1}")
    await join(east, west)
    async with controlling(east, [west]) as running:
        plane = running.controller.dataplane
        await eventually(lambda: len(plane.carrying.outbound) == len(plane.calling.callers) == 8)
        before = dict(plane.carrying.outbound), dict(plane.carrying.peers)
        told: list[object] = []
        plane.carrying.tell(lambda: told.append("mirrors"))
        plane.calling.tell(lambda: told.append("callers"))
        east.cluster.faults.add(effects.empty_list(), listing(plural), times=1)
        await relist(east)
        await asyncio.sleep(30)
        assert (dict(plane.carrying.outbound), dict(plane.carrying.peers)) == before
        assert (len(plane.calling.callers), told) == (8, [])


async def test_whatever_is_held_is_measured() -> None:
    east, west = await source(), place("west", 1)
    await join(east, west)
    await east.create(GRANTS, {"metadata": {"name": "west"}, "spec": {"cluster": "west"}})
    async with controlling(east, [west]) as running:
        controller = running.controller
        await eventually(lambda: len(controller.exporting.grants.objects) == 1)
        for plural in ("grants", "links"):
            assert "isthmus_held_objects 0.0" in generate_latest(registry(controller)).decode()
            east.cluster.faults.add(effects.empty_list(), listing(plural), times=1)
            east.cluster.faults.compact()
            east.cluster.faults.disconnect()
            await eventually(lambda: controller.held == 1)
            assert "isthmus_held_objects 1.0" in generate_latest(registry(controller)).decode()
            await eventually(lambda: controller.held == 0)


async def run_pod(east: Place, name: str, ip: str) -> None:
    """Let a pod have run for a while."""
    spec = {"containers": [{"name": "main", "image": "any"}]}
    await east.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
    await east.client.merge_patch(PODS, Key("default", name), {"status": status}, "status")
