"""Two clusters that are joined: each with its controller, its gateway and its egress, all real.

Everything runs as pods of embedded clusters, on loopback addresses.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import Controller
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.objects import PODS
from isthmus.embedded.machine.programs import PROGRAMS, Programs, Site
from isthmus.embedded.mesh.program import IMAGE
from isthmus.install.parts import ADMIN
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Selection
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import EXPORTED
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from isthmus.pki.anchor import create_anchor
from isthmus.pki.keys import Pair as Signer
from isthmus.runtime.clock import Clock, SystemClock
from tests.dataplane.workloads import (
    SYSTEM,
    WORKLOADS,
    carrying,
    create,
    installed,
    pod,
    trust,
    words,
)
from tests.support import machine as machines
from tests.support.machine import Admin, Reply
from tests.support.waiting import until

LINKS, GRANTS = KINDS["Link"], KINDS["Grant"]


@dataclass
class Side:
    """One of the clusters."""

    cluster: Cluster
    kubectl: Admin
    replicas: list["Replica"] = field(default_factory=list)
    machine: Machine = field(init=False)

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def client(self) -> Client:
        return self.kubectl.client

    @property
    def controllers(self) -> list[Controller]:
        return [one.controller for one in self.replicas]

    async def call(self, pod: str, url: str, **options: Json) -> Reply:
        return await machines.call(self.machine, pod, url, **options)

    async def export(self, service: str, value: str | None = "true") -> None:
        labels = {"metadata": {"labels": {EXPORTED: value}}}
        await self.kubectl.change("Service", service, labels)

    async def grant(self, cluster: str, **spec: Json) -> None:
        obj = {"metadata": {"name": cluster}, "spec": {"cluster": cluster, **spec}}
        await self.client.create(GRANTS, obj)

    async def revoke(self, cluster: str) -> None:
        await self.client.delete(GRANTS, Key("", cluster))

    async def listener(self, mirror: str) -> str:
        """Return where the egress listens for the one port of a mirror."""
        (found,) = await self.kubectl.slices(mirror)
        return f"{found.endpoints[0].addresses[0]}:{found.ports[0].port}"

    async def until_up(self, *names: str) -> None:
        """Wait until exactly these workloads of ours run."""

        async def pods() -> dict[str, bool]:
            found = await self.client.list(PODS, Selection(namespace=SYSTEM))
            return {one.metadata.name: one.is_ready for one in found.objects}

        await until(pods, lambda found: found == dict.fromkeys(names, True))

    async def start(self, name: str) -> None:
        """Start one of our own workloads."""
        await create(self.client, [pod(self.cluster, name)])

    async def stop(self, name: str) -> None:
        """End one of our own workloads, and wait until it is gone."""
        await self.client.delete(PODS, Key(SYSTEM, name))
        await self.until_up(*(WORKLOADS - {name}))

    async def link(self, other: "Side") -> None:
        gateway = other.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
        spec = {"gateway": {"addresses": [gateway]}, "enableHeadlessServices": True}
        await self.client.create(LINKS, {"metadata": {"name": other.name}, "spec": spec})


def account(name: str) -> JsonObject:
    return {"kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}}


Controlling = Callable[["Side", Site], AbstractAsyncContextManager[Controller]]


@dataclass
class Replica:
    """A controller in its pod; it may end before the pod does, and be followed by another."""

    start: Callable[[], AbstractAsyncContextManager[Controller]]
    controller: Controller = field(init=False)
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begin(self) -> None:
        self.controller = await self._running.enter_async_context(self.start())

    async def end(self) -> None:
        await self._running.aclose()


@asynccontextmanager
async def side(
    name: str,
    anchor: Signer,
    *objects: JsonObject,
    programs: Programs = PROGRAMS,
    controlling: Controlling | None = None,
) -> AsyncIterator[Side]:
    """A cluster that runs ``objects`` and all of our own workloads.

    ``controlling`` runs a controller in its pod, if it is to be another than usual.
    """
    cluster = machines.cluster(name)
    made = Side(cluster, machines.admin(cluster))
    await create(made.client, [*installed(cluster, trust(name, anchor)), *objects])

    @asynccontextmanager
    async def isthmus(site: Site) -> AsyncIterator[None]:
        told = await words(site)
        async with controller(site) if told[0] == "controller" else carrying(told):
            yield

    @asynccontextmanager
    async def controller(site: Site) -> AsyncIterator[None]:
        replica = Replica(partial(controlling or controlled, made, site))
        await replica.begin()
        made.replicas.append(replica)
        try:
            yield
        finally:
            made.replicas.remove(replica)
            await replica.end()

    async with Machine(cluster, programs={**programs, IMAGE: isthmus}) as made.machine:
        yield made


@asynccontextmanager
async def controlled(
    made: Side, site: Site, *, admin_port: int | None = ADMIN, clock: Clock | None = None
) -> AsyncIterator[Controller]:
    """A controller at the pod's address."""
    config = Config(
        cluster_name=made.name,
        cluster_domain=made.cluster.domain,
        identity=site.hostname,
        allow_loopback=True,
        address=site.address,
        admin_port=admin_port,
    )
    client = Client(made.cluster.transport())
    outside = Outside(client=client, clock=clock or SystemClock())
    controller = Controller(config, outside)
    stop = asyncio.Event()
    task = asyncio.create_task(controller.run(stop))
    try:
        yield controller
    finally:
        stop.set()
        await asyncio.wait({task})
        await client.close()
    await task


@dataclass
class Pair:
    east: Side
    west: Side


@asynccontextmanager
async def pair(
    east: tuple[JsonObject, ...] = (),
    west: tuple[JsonObject, ...] = (),
    *,
    grant: JsonObject | None = None,
    programs: Programs = PROGRAMS,
    anchor: Signer | None = None,
) -> AsyncIterator[Pair]:
    """East, linked to west, which has a Grant for it."""
    anchor = anchor or create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with (
        side("east", anchor, *east, programs=programs) as one,
        side("west", anchor, *west, programs=programs) as other,
    ):
        for each in (one, other):
            await each.until_up(*WORKLOADS)
        await other.grant("east", **(grant or {}))
        await one.link(other)
        yield Pair(one, other)
