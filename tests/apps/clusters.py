"""A source and its targets in memory, and controllers between them, on virtual time."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import urlsplit

import yaml

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Knock, Outside, nobody_knocks
from isthmus.apps.controller.run import Controller
from isthmus.catalogue import errors as catalogue_errors
from isthmus.catalogue.following import Chunks, Door, Open
from isthmus.embedded.cluster import Cluster
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound, Unreachable
from isthmus.kube.requests import Selection
from isthmus.kube.resources import Resource, untyped
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.support.definitions import PLURALS, definition
from tests.support.waiting import until

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

SERVICES = untyped("v1", "Service", "services", namespaced=True)
SLICES = untyped("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", namespaced=True)
GRANTS = untyped("isthmus.dev/v1alpha1", "Grant", "grants", namespaced=False)
LINKS = untyped("isthmus.dev/v1alpha1", "Link", "links", namespaced=False)
PLAIN_SECRETS = untyped("v1", "Secret", "secrets", namespaced=True)
PLAIN_NAMESPACES = untyped("v1", "Namespace", "namespaces", namespaced=False)
EVENTS = untyped("events.k8s.io/v1", "Event", "events", namespaced=True)
PLAIN_DEFINITIONS = untyped(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


class VirtualClock:
    """Both clocks follow the event loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return START + timedelta(seconds=self.now())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Wire:
    """A transport that keeps a list of what was written through it, leases apart."""

    inner: Transport
    writes: list[str] = field(default_factory=list)
    is_cut: bool = False

    def cut(self) -> None:
        self.is_cut = True

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if self.is_cut:
            raise Unreachable("the process is gone")
        if request.method != "GET" and "/leases" not in request.path:
            self.writes.append(f"{request.method} {request.path}")
        return self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


@dataclass(slots=True)
class Air:
    """A network in which every gateway answers but the dead ones."""

    dead: set[str] = field(default_factory=set)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def resolve(self, host: str) -> tuple[str, ...]:
        await asyncio.sleep(0.01)
        if host not in self.names:
            raise OSError("name not known")
        return self.names[host]

    async def touch(self, address: str, port: int) -> None:
        await asyncio.sleep(0.01)
        if address in self.dead:
            raise ConnectionRefusedError(f"{address}:{port}")


@dataclass(slots=True)
class Place:
    """One cluster, and an administrator's way into it."""

    name: str
    client: Client
    embedded: Cluster | None = None

    @property
    def cluster(self) -> Cluster:
        assert self.embedded is not None, f"{self.name} is not an embedded cluster"
        return self.embedded

    async def create(self, resource: Resource[JsonObject], obj: JsonObject) -> JsonObject:
        return await self.client.create(resource, obj)

    async def edit(
        self, resource: Resource[JsonObject], name: str, patch: JsonObject, namespace: str = ""
    ) -> JsonObject:
        where = namespace or ("default" if resource.namespaced else "")
        return await self.client.merge_patch(resource, Key(where, name), patch)

    async def delete(
        self, resource: Resource[JsonObject], name: str, namespace: str = "default"
    ) -> None:
        await self.client.delete(resource, Key(namespace if resource.namespaced else "", name))

    async def get(
        self, resource: Resource[JsonObject], name: str, namespace: str = "default"
    ) -> JsonObject | None:
        try:
            key = Key(namespace if resource.namespaced else "", name)
            return await self.client.get(resource, key)
        except NotFound:
            return None

    async def all(
        self, resource: Resource[JsonObject], namespace: str = "", labels: str = ""
    ) -> list[JsonObject]:
        page = await self.client.list(resource, Selection(namespace=namespace, labels=labels))
        return list(page.objects)

    async def mirrors(self) -> list[str]:
        """The names of all mirrors, with their namespaces unless that is default."""
        found = await self.all(SERVICES, labels="mirror.linkerd.io/mirrored-service=true")
        return sorted(_short(one) for one in found)

    async def link(self, name: str = "west") -> JsonObject:
        found = await self.get(LINKS, name)
        assert found is not None
        return found

    async def condition(self, kind: str, name: str = "west") -> tuple[str, str]:
        """Status and reason of a condition of a link."""
        status = (await self.link(name)).get("status", {})
        for one in status.get("conditions", ()):
            if one["type"] == kind:
                return one["status"], one["reason"]
        return "", ""


def _short(obj: JsonObject) -> str:
    metadata = obj["metadata"]
    space = metadata["namespace"]
    return metadata["name"] if space == "default" else f"{space}/{metadata['name']}"


def place(name: str, number: int = 0) -> Place:
    clock = VirtualClock()
    cluster = Cluster(
        name,
        domain=f"{name}.cluster.local",
        service_range=f"10.{96 + number % 100}.0.0/16",
        wall=clock.utc,
        random=Random(number),
    )
    client = Client(cluster.transport(), clock=clock, random=Random(number))
    return Place(name, client, cluster)


async def source() -> Place:
    """A cluster in which a controller can run, with egress proxies."""
    east = place("east")
    await furnish(east)
    return east


async def furnish(east: Place) -> None:
    """Put into a cluster what a controller needs to run there."""
    for plural in PLURALS:
        await east.create(PLAIN_DEFINITIONS, definition(plural))
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "isthmus"}})
    await east.create(SLICES, egress_slice("10.1.0.7", "10.1.0.8"))


def egress_slice(*addresses: str) -> JsonObject:
    return {
        "metadata": {
            "name": "isthmus-egress-1",
            "namespace": "isthmus",
            "labels": {"kubernetes.io/service-name": "isthmus-egress"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ip], "conditions": {"ready": True}} for ip in addresses],
        "ports": [{"name": "any", "port": 1}],
    }


def kubeconfig(host: str, token: str = "any") -> bytes:
    return yaml.safe_dump(
        {
            "clusters": [{"name": "c", "cluster": {"server": f"https://{host}.example:6443"}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    ).encode()


def secret(name: str, raw: bytes) -> JsonObject:
    return {
        "metadata": {"name": f"cluster-credentials-{name}", "namespace": "isthmus"},
        "data": {"kubeconfig": base64.b64encode(raw).decode()},
    }


def link(name: str = "west", **spec: object) -> JsonObject:
    given = {
        "gateway": {"addresses": ["203.0.113.9"]},
        "via": "api",
        "credentialsSecret": f"cluster-credentials-{name}",
        "clusterDomain": f"{name}.cluster.local",
        "enableHeadlessServices": True,
    }
    return {"metadata": {"name": name}, "spec": given | spec}


async def join(east: Place, *targets: Place, **spec: object) -> None:
    """Link ``east`` to each target, under the target's name."""
    for one in targets:
        name = one.cluster.name
        raw = kubeconfig(name, one.cluster.admin_token)
        await east.create(PLAIN_SECRETS, secret(name, raw))
        await east.create(LINKS, link(name, **spec))


@dataclass(slots=True)
class Running:
    """A controller at work."""

    controller: Controller
    wire: Wire
    air: Air
    task: asyncio.Task[None]

    async def crash(self) -> None:
        """End it in the middle of whatever it is doing, with no chance to say goodbye."""
        self.wire.cut()
        self.task.cancel()
        await asyncio.wait({self.task})

    @property
    def writes(self) -> list[str]:
        return self.wire.writes


def unchanged(inner: Transport) -> Transport:
    return inner


def nowhere(door: Door) -> AbstractAsyncContextManager[Chunks]:
    raise catalogue_errors.Unreachable(f"there is no way to {door.cluster}")


@asynccontextmanager
async def controlling(
    east: Place,
    targets: Iterable[Place] = (),
    *,
    seed: int = 1,
    air: Air | None = None,
    catalogue: Open = nowhere,
    knock: Knock = nobody_knocks,
    around: Callable[[Transport], Transport] = unchanged,
    berths: int = 1000,
) -> AsyncIterator[Running]:
    """Run a controller in ``east`` that can reach ``targets`` by their names.

    ``around`` is put around all its ways to clusters.
    """
    by_host = {f"{one.cluster.name}.example": one.cluster for one in targets}

    def connect(access: Access) -> Transport:
        return around(by_host[urlsplit(access.server.url).hostname or ""].transport("none"))

    wire, clock = Wire(around(east.cluster.transport())), VirtualClock()
    network = air or Air()
    outside = Outside(
        client=Client(wire, clock=clock, random=Random(seed)),
        connect=connect,
        catalogue=catalogue,
        knock=knock,
        network=network,
        clock=clock,
        random=Random(seed),
        overrun=lambda: None,
        berths=berths,
    )
    config = Config(
        cluster_name=east.name,
        cluster_domain=f"{east.name}.cluster.local",
        identity=f"replica-{seed}",
        admin_port=None,
    )
    controller = Controller(config, outside)
    stop = asyncio.Event()
    task = asyncio.create_task(controller.run(stop))
    try:
        yield Running(controller, wire, network, task)
    finally:
        stop.set()
        await asyncio.wait({task})
    if not task.cancelled():
        await task  # shows the error that it ended by


async def settled(east: Place, wanted: list[str], *, within: float = 30) -> None:
    """Wait until the mirrors are exactly those, and (in no time) for everything that follows."""
    await until(east.mirrors, lambda found: found == sorted(wanted), within=within)
    if east.embedded is not None:
        await asyncio.sleep(3)
        assert await east.mirrors() == sorted(wanted)


def exported(
    name: str, *, headless: bool = False, namespace: str = "default", port: int = 80
) -> JsonObject:
    spec: JsonObject = {"ports": [{"name": "http", "port": port}], "selector": {"app": name}}
    if headless:
        spec["clusterIP"] = "None"
    labels = {"mirror.linkerd.io/exported": "true", "app": name}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}


def foreign(name: str, namespace: str = "default") -> JsonObject:
    """A Service of somebody else's."""
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": {"ports": [{"port": 1}]}}


def endpoints(service: str, *hostnames: str, namespace: str = "default") -> JsonObject:
    """The slice of a headless Service; names of pods, or addresses without one."""
    found = []
    for number, hostname in enumerate(hostnames):
        one: JsonObject = {"addresses": [f"10.2.0.{number + 1}"], "conditions": {"ready": True}}
        if not hostname[0].isdigit():
            one["hostname"] = hostname
        found.append(one)
    return {
        "metadata": {
            "name": f"{service}-abcde",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": found,
        "ports": [{"name": "http", "port": 80}],
    }
