"""Two clusters that are joined: each with its controller, its gateway and its egress, all real.

Everything runs as pods of embedded clusters, on loopback addresses.
"""

import asyncio
import base64
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside, SystemNetwork
from isthmus.apps.controller.proxies import Role
from isthmus.apps.controller.run import Controller
from isthmus.apps.proxy import config as proxy
from isthmus.apps.proxy.run import run as launch
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.objects import PODS
from isthmus.embedded.machine.programs import PROGRAMS, Programs, Site
from isthmus.envoy import admin as envoy
from isthmus.envoy.bootstrap import ADMIN_SOCKET
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS, SERVICES, untyped
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import ANCHORS, EXPORTED, ISSUER, TRUST, audience
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from isthmus.pki import bundle
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair as Signer
from isthmus.pki.keys import chain_pem, key_pem
from isthmus.runtime.clock import SystemClock
from tests.support import machine as machines
from tests.support.definitions import PLURALS, definition
from tests.support.embedded import talk
from tests.support.machine import Admin, Reply
from tests.support.waiting import until

SYSTEM = "isthmus"  # the namespace of our own workloads
LINKS = untyped("isthmus.dev/v1alpha1", "Link", "links", namespaced=False)
GRANTS = untyped("isthmus.dev/v1alpha1", "Grant", "grants", namespaced=False)
_DEFINITIONS = untyped(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
_NAMESPACES = untyped("v1", "Namespace", "namespaces", namespaced=False)
_SECRETS = untyped("v1", "Secret", "secrets", namespaced=True)
_CONFIG_MAPS = untyped("v1", "ConfigMap", "configmaps", namespaced=True)
_ACCOUNTS = untyped("v1", "ServiceAccount", "serviceaccounts", namespaced=True)

WORKLOADS = {
    "isthmus-controller": {"https": 8443, "grpc": 8444},
    "isthmus-gateway": {"tls": 4143},
    "isthmus-egress": {"metrics": 9991},
}


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
        image = f"isthmus.dev/{name.removeprefix('isthmus-')}"
        pod = machines.pod(name, image, serviceAccountName=name)
        ports = [{"containerPort": port} for port in WORKLOADS[name].values()]
        pod["spec"]["containers"][0]["ports"] = ports
        await self.kubectl.create(pod, namespace=SYSTEM)

    async def stop(self, name: str) -> None:
        """End one of our own workloads, and wait until it is gone."""
        await self.client.delete(PODS, Key(SYSTEM, name))
        await self.until_up(*(WORKLOADS.keys() - {name}))

    async def link(self, other: "Side") -> None:
        gateway = other.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
        spec = {"gateway": {"addresses": [gateway]}, "enableHeadlessServices": True}
        await self.client.create(LINKS, {"metadata": {"name": other.name}, "spec": spec})


def account(name: str) -> JsonObject:
    return {"kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}}


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
    name: str, anchor: Signer, *objects: JsonObject, programs: Programs = PROGRAMS
) -> AsyncIterator[Side]:
    """A cluster that runs ``objects`` and all of our own workloads."""
    cluster = machines.cluster(name)
    made = Side(cluster, machines.admin(cluster))
    await _furnish(made, anchor)
    for obj in objects:
        if obj["kind"] == "ServiceAccount":
            await made.client.create(_ACCOUNTS, obj)
        else:
            await made.kubectl.create(obj)

    @asynccontextmanager
    async def controller(site: Site) -> AsyncIterator[None]:
        replica = Replica(partial(_controlling, made, site))
        await replica.begin()
        made.replicas.append(replica)
        try:
            yield
        finally:
            made.replicas.remove(replica)
            await replica.end()

    ours = {
        "isthmus.dev/controller": controller,
        "isthmus.dev/gateway": lambda site: _proxy(site, made, "gateway"),
        "isthmus.dev/egress": lambda site: _proxy(site, made, "egress"),
    }
    async with Machine(cluster, programs={**programs, **ours}) as made.machine:
        yield made


@asynccontextmanager
async def _proxy(site: Site, made: Side, role: Role) -> AsyncIterator[None]:
    """A proxy at the pod's address, with all that a kubelet would mount; there when it is ready."""
    with tempfile.TemporaryDirectory() as mounted:
        directory, token, trust = (Path(mounted, name) for name in ("run", "token", "anchors.pem"))
        directory.mkdir()
        token.write_text(await _token(made, site))
        trust.write_text((await made.client.get(CONFIG_MAPS, Key(SYSTEM, TRUST))).data[ANCHORS])
        service = await made.client.get(SERVICES, Key(SYSTEM, "isthmus-controller"))
        controller = service.spec.cluster_ip
        told = {one.name: float(one.value) for one in site.container.env}
        config = proxy.Config(
            role=role,
            cluster_name=made.name,
            controller=(controller, 8443),
            ads=(controller, 8444),
            token_file=token,
            trust_file=trust,
            directory=directory,
            name=site.hostname,
            address=site.address,
            metrics=(site.address, 9991),
            concurrency=1,
            drain=told.get("DRAIN", 1.0),
            linger=told.get("LINGER", 0.0),
        )
        for port in (8443, 8444):
            await until(partial(_answers, controller, port), bool)
        stop = asyncio.Event()
        task = asyncio.create_task(launch(config, SystemClock(), stop))
        admin = envoy.Admin(directory / ADMIN_SOCKET)
        try:
            await until(admin.ready, bool)
            yield
        finally:
            stop.set()
            await task


async def _answers(address: str, port: int) -> bool:
    try:
        await SystemNetwork().touch(address, port)
    except OSError:
        return False
    return True


async def _token(made: Side, site: Site) -> str:
    metadata = site.pod.metadata
    pod = {"kind": "Pod", "apiVersion": "v1", "name": metadata.name, "uid": metadata.uid}
    spec = {"audiences": [audience(made.name)], "boundObjectRef": pod}
    account = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{site.pod.spec.service_account_name}"
    answer = await talk(made.cluster).create(f"{account}/token", {"spec": spec})
    return str(answer["status"]["token"])


@asynccontextmanager
async def _controlling(made: Side, site: Site) -> AsyncIterator[Controller]:
    """A controller at the pod's address."""
    config = Config(
        cluster_name=made.name,
        cluster_domain=made.cluster.domain,
        identity=site.hostname,
        allow_loopback=True,
        address=site.address,
        admin_port=None,
    )
    client = Client(made.cluster.transport())
    controller = Controller(config, Outside(client=client))
    stop = asyncio.Event()
    task = asyncio.create_task(controller.run(stop))
    try:
        yield controller
    finally:
        stop.set()
        await asyncio.wait({task})
        await client.close()
    await task


async def _furnish(made: Side, anchor: Signer) -> None:
    create = made.client.create
    for plural in PLURALS:
        await create(_DEFINITIONS, definition(plural))
    await create(_NAMESPACES, {"metadata": {"name": SYSTEM}})
    issuer = create_issuer(anchor, made.name, MESH_DOMAIN, datetime.now(UTC))
    secret = {"tls.crt": chain_pem(issuer.certificate), "tls.key": key_pem(issuer.key)}
    data = {name: base64.b64encode(value).decode() for name, value in secret.items()}
    await create(_SECRETS, {"metadata": {"name": ISSUER, "namespace": SYSTEM}, "data": data})
    trusted = {ANCHORS: bundle.of([anchor.certificate]).pem().decode()}
    await create(_CONFIG_MAPS, {"metadata": {"name": TRUST, "namespace": SYSTEM}, "data": trusted})
    for name, ports in WORKLOADS.items():
        await create(_ACCOUNTS, {"metadata": {"name": name, "namespace": SYSTEM}})
        open_ports = [
            {"name": one, "port": port, "targetPort": port} for one, port in ports.items()
        ]
        service = machines.service(name, name, ports=open_ports)
        await made.kubectl.create(service, namespace=SYSTEM)
        await made.start(name)


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
) -> AsyncIterator[Pair]:
    """East, linked to west, which has a Grant for it."""
    anchor = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with (
        side("east", anchor, *east, programs=programs) as one,
        side("west", anchor, *west, programs=programs) as other,
    ):
        for each in (one, other):
            await each.until_up(*WORKLOADS)
        await other.grant("east", **(grant or {}))
        await one.link(other)
        yield Pair(one, other)
