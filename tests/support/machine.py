"""Embedded clusters that run, the objects that run in them, and calls made as one of their pods."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from socket import AF_INET, AddressFamily

from aiohttp import ClientSession, ClientTimeout, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.machine import Machine, NoSuchPod
from isthmus.embedded.machine.objects import DEPLOYMENTS, PODS, STATEFUL_SETS, Pod
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.programs import PROGRAMS, Programs
from isthmus.embedded.machine.records import Unresolved
from isthmus.embedded.machine.streams import Stream
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES, untyped
from isthmus.model.objects import EndpointSlice, Key
from isthmus.model.wire import Json, JsonObject
from tests.support.waiting import until

CLUSTERS = ("east", "west", "north", "south")
_KINDS = {
    one.kind: untyped(one.api_version, one.kind, one.plural, namespaced=True)
    for one in (PODS, SERVICES, STATEFUL_SETS, DEPLOYMENTS, ENDPOINT_SLICES)
}


def cluster(name: str) -> Cluster:
    """A cluster on loopback addresses: its own, and other ones in every process of tests."""
    block, number = 1 + os.getpid() % 250, CLUSTERS.index(name) * 64
    return Cluster(
        name,
        domain=f"{name}.cluster.local",
        service_range=f"127.{block}.{number}.0/19",
        pod_range=f"127.{block}.{number + 32}.0/19",
        loopback=True,
    )


def pod(name: str, image: str = "curl", **spec: Json) -> JsonObject:
    """A pod with the label ``app: name`` and a port called http; it only calls, unless told."""
    metadata = {"name": name, "labels": {"app": name}}
    return {"kind": "Pod", "metadata": metadata, "spec": _pod_spec(image, spec)}


def stateful_set(name: str, replicas: int, of: str, image: str = "nginx") -> JsonObject:
    """A StatefulSet of the Service ``of``; its pods have the label ``app: name``."""
    made = _workload("StatefulSet", name, replicas, image)
    made["spec"]["serviceName"] = of
    return made


def deployment(name: str, replicas: int, image: str = "nginx", **spec: Json) -> JsonObject:
    return _workload("Deployment", name, replicas, image, **spec)


def service(name: str, app: str, **spec: Json) -> JsonObject:
    """A Service of the pods that have the label ``app``, at port 80."""
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    whole = {"selector": {"app": app}, "ports": ports, **spec}
    return {"kind": "Service", "metadata": {"name": name, "labels": {"app": app}}, "spec": whole}


def headless(name: str, app: str, **spec: Json) -> JsonObject:
    return service(name, app, clusterIP="None", **spec)


def slice_of(name: str, addresses: list[str], port: int) -> JsonObject:
    """A slice that somebody else writes for a Service."""
    return {
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]} for address in addresses],
        "ports": [{"name": "http", "port": port}],
    }


def _workload(kind: str, name: str, replicas: int, image: str, **spec: Json) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(image, spec)}
    whole = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"kind": kind, "metadata": {"name": name}, "spec": whole}


def _pod_spec(image: str, more: JsonObject) -> JsonObject:
    port = {"name": "http", "containerPort": 80}
    return {"containers": [{"name": "main", "image": image, "ports": [port]}], **more}


@dataclass(frozen=True, slots=True)
class Admin:
    """What somebody with kubectl does to a cluster."""

    client: Client

    async def create(self, *objects: JsonObject, namespace: str = "default") -> None:
        for obj in objects:
            metadata = {"namespace": namespace, **obj["metadata"]}
            await self.client.create(_KINDS[obj["kind"]], {**obj, "metadata": metadata})

    async def change(self, kind: str, name: str, patch: JsonObject, subresource: str = "") -> None:
        await self.client.merge_patch(_KINDS[kind], Key("default", name), patch, subresource)

    async def delete(self, kind: str, name: str) -> None:
        await self.client.delete(_KINDS[kind], Key("default", name))

    async def pods(self, app: str = "") -> list[Pod]:
        selection = Selection(namespace="default", labels=f"app={app}" if app else "")
        found = await self.client.list(PODS, selection)
        return sorted(found.objects, key=lambda one: one.metadata.name)

    async def slices(self, name: str) -> list[EndpointSlice]:
        labels = f"kubernetes.io/service-name={name}"
        page = await self.client.list(
            ENDPOINT_SLICES, Selection(namespace="default", labels=labels)
        )
        return list(page.objects)

    async def address(self, name: str) -> str:
        """The cluster IP of a Service."""
        return (await self.client.get(SERVICES, Key("default", name))).spec.cluster_ip

    async def until_ready(self, *names: str, app: str = "") -> list[Pod]:
        """Wait until exactly the named pods exist, and all are ready."""

        def ready(found: list[Pod]) -> bool:
            up = [one for one in found if one.is_ready and not one.is_terminating]
            return up == found and [one.metadata.name for one in found] == sorted(names)

        return await until(lambda: self.pods(app), ready)

    async def until_served(self, name: str, count: int) -> list[EndpointSlice]:
        """Wait until the slices of a Service have so many endpoints, all ready."""

        def served(found: list[EndpointSlice]) -> bool:
            endpoints = [endpoint for one in found for endpoint in one.endpoints]
            return len(endpoints) == count and all(one.conditions.ready for one in endpoints)

        return await until(lambda: self.slices(name), served)


def admin(of: Cluster) -> Admin:
    return Admin(Client(of.transport()))


@asynccontextmanager
async def running(
    *objects: JsonObject,
    name: str = "west",
    programs: Programs = PROGRAMS,
    ports: Ports | None = None,
) -> AsyncIterator[tuple[Machine, Admin]]:
    """A new cluster that runs ``objects``, and somebody with kubectl."""
    made = cluster(name)
    kubectl = admin(made)
    await kubectl.create(*objects)
    async with Machine(made, programs=programs, ports=ports) as machine:
        yield machine, kubectl


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: str
    headers: Mapping[str, str]

    @property
    def greeting(self) -> str:
        """Which pod has answered."""
        return self.body.partition("\n")[0].removeprefix("Welcome, this is ")

    @property
    def told(self) -> dict[str, str]:
        """What the pod says about the request: host, from, x-forwarded-client-cert."""
        lines = (line.partition(": ") for line in self.body.splitlines()[1:])
        return {key: value for key, _, value in lines}


class _PodResolver(AbstractResolver):
    """Resolves as a pod does, and knows where the machine has moved ports."""

    def __init__(self, machine: Machine, namespace: str) -> None:
        self._machine = machine
        self._namespace = namespace

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=self._machine.ports.at(port),
                family=family,
                proto=0,
                flags=0,
            )
            for address in self._machine.resolve(host, self._namespace)
        ]

    async def close(self) -> None:
        pass


def session(machine: Machine, name: str, namespace: str = "default") -> ClientSession:
    """An HTTP client that is a pod: for streams, websockets and many calls to names."""
    source = machine.pod(name, namespace).status.pod_ip
    connector = TCPConnector(
        local_addr=(source, 0),
        resolver=_PodResolver(machine, namespace),
        family=AF_INET,
        force_close=True,
    )
    return ClientSession(connector=connector, timeout=ClientTimeout(total=10))


async def call(
    machine: Machine,
    name: str,
    url: str,
    *,
    namespace: str = "default",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Call ``url`` as the pod ``name``: by its names, from its address."""
    target = URL(url)
    if (target.host or "").startswith("127."):  # no resolver is asked, which would move the port
        target = target.with_port(machine.ports.at(target.port or 80))
    async with (
        session(machine, name, namespace) as client,
        client.get(target, headers=headers) as response,
    ):
        return Reply(response.status, await response.text(), response.headers)


# What a call meets while pods, endpoints and names are still on their way.
NOT_YET = (OSError, NoSuchPod, Unresolved)


async def answered(machine: Machine, name: str, url: str) -> Reply:
    """Call as soon as somebody answers."""

    async def reply() -> Reply | None:
        try:
            return await call(machine, name, url)
        except NOT_YET:
            return None

    found = await until(reply, lambda one: one is not None)
    assert found is not None
    return found


async def opened(machine: Machine, name: str, to: str, port: int = 80) -> Stream:
    """Connect as soon as somebody answers."""

    async def stream() -> Stream | None:
        try:
            return await machine.connect(name, to, port)
        except NOT_YET:
            return None

    found = await until(stream, lambda one: one is not None)
    assert found is not None
    return found
