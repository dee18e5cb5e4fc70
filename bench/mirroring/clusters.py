"""The two clusters: a target that exports, and a fresh source for everyone who is measured.

Fresh, because allocating a cluster IP costs more with every Service that is there: both sides
have to start from the same state.
"""

import asyncio
import base64
import json
import ssl
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import aiohttp
import yaml

from bench import peers
from bench.kernel import processor_seconds
from bench.population import (
    NAMESPACES,
    STATEFUL,
    endpoint_slice,
    namespace,
    service,
    set_slices,
    stateful,
)
from bench.progress import Progress
from bench.requests import send, session, spread
from isthmus.model.names import EXPORTED, SERVICE_NAME
from isthmus.model.wire import JsonObject
from lab.controlplane import ControlPlane, Settings, control_plane
from lab.versions import API_SERVER

EAST = Settings(name="east", domain="east.cluster.local")
WEST = Settings(name="west", domain="west.cluster.local", service_range="10.97.0.0/16")
CRDS = peers.ROOT / "deploy" / "crds"
LINKS = "/apis/isthmus.dev/v1alpha1/links"
TWIN = "bench.isthmus.dev/twin"  # marks what the floor copies, and the controller does not see
TWINS = range(900_000, 900_020)
QUIET = 0.1  # of one core
PATIENCE = 20.0  # seconds for an API server to come to rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How to reach a cluster; travels as JSON to a process that writes into it."""

    url: str
    ca_file: str
    token: str = field(repr=False)

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file)


def server(plane: ControlPlane) -> Server:
    return Server(url=plane.url, ca_file=str(plane.papers.ca_file), token=plane.admin_token)


@contextmanager
def target() -> Iterator[ControlPlane]:
    """A cluster that exports nothing yet."""
    with control_plane(WEST) as west:
        asyncio.run(_open(west))
        yield west


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A target, as a source gets to know it."""

    name: str
    url: str
    domain: str
    kubeconfig: JsonObject = field(repr=False)
    has_pods: bool = False  # whether its headless Services are mirrored pod by pod


def linked(west: ControlPlane, *, has_pods: bool = False) -> Linked:
    return Linked(
        name=west.settings.name,
        url=west.url,
        domain=west.settings.domain,
        kubeconfig=west.kubeconfig(),
        has_pods=has_pods,
    )


@contextmanager
def source(targets: Sequence[Linked]) -> Iterator[ControlPlane]:
    """A fresh cluster, linked to all ``targets``, whose API server has come to rest."""
    with control_plane(EAST) as east:
        asyncio.run(_join(east, targets))
        _come_to_rest(east)
        yield east


async def export(west: ControlPlane, numbers: range) -> None:
    """Export so many Services, with a slice for each.

    They are headless, so that ten thousand are there in a minute; where pods are not mirrored one
    by one, each is mirrored as any other is: one Service with a cluster IP, and one slice.
    """
    progress = Progress("exported Services", len(numbers))
    async with session(server(west)) as opened:

        async def create(number: int) -> None:
            inside = f"namespaces/{namespace(number)}"
            made = await send(opened, "POST", f"/api/v1/{inside}/services", service(number))
            written = endpoint_slice(number, made["metadata"]["uid"])
            path = f"/apis/discovery.k8s.io/v1/{inside}/endpointslices"
            await send(opened, "POST", path, written)
            progress.step()

        await spread(numbers, create)


async def export_pods(west: ControlPlane, numbers: range) -> None:
    """Let one headless Service, which is made with the first of them, have so many more pods."""
    async with session(server(west)) as opened:
        body = stateful()
        inside = f"namespaces/{body['metadata']['namespace']}"
        if numbers.start == 0:
            await send(opened, "POST", f"/api/v1/{inside}/services", body)
        path = f"/apis/discovery.k8s.io/v1/{inside}/endpointslices"
        await _create(opened, path, set_slices(numbers))


def twin(number: int) -> JsonObject:
    """A Service like the exported ones that is not exported."""
    body = service(number, headless=False)
    labels = {name: value for name, value in body["metadata"]["labels"].items() if name != EXPORTED}
    return {**body, "metadata": {**body["metadata"], "labels": {**labels, TWIN: "true"}}}


def stored(plane: ControlPlane, kind: str) -> int:
    """Return how many objects etcd has of ``kind``: a look that costs an API server nothing."""
    asked = {"key": _b64(f"/registry/{kind}/"), "range_end": _b64(f"/registry/{kind}0")}
    body = json.dumps({**asked, "count_only": True}).encode()
    request = urllib.request.Request(f"{plane.etcd_url}/v3/kv/range", data=body)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(json.load(answer).get("count", 0))


def named(east: ControlPlane) -> int:
    """Return how many pods the mirror of the StatefulSet's Service names."""
    its = f"{SERVICE_NAME}={STATEFUL}-{WEST.name}"

    async def ask() -> int:
        async with session(server(east)) as opened:
            path = f"/apis/discovery.k8s.io/v1/endpointslices?labelSelector={its}"
            found = await send(opened, "GET", path)
            return sum(len(one["endpoints"] or ()) for one in found["items"])

    return asyncio.run(ask())


async def _open(plane: ControlPlane) -> None:
    async with session(server(plane)) as opened:
        names = [namespace(number) for number in range(NAMESPACES)]
        await _create(opened, "/api/v1/namespaces", ({"metadata": {"name": one}} for one in names))
        for number in TWINS:
            path = f"/api/v1/namespaces/{namespace(number)}/services"
            await send(opened, "POST", path, twin(number))


async def _join(east: ControlPlane, targets: Sequence[Linked]) -> None:
    """Give ``east`` what a controller finds there: definitions, an egress, links."""
    await _open(east)
    async with session(server(east)) as opened:
        crds = [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))]
        await _create(opened, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crds)
        await _create(opened, "/api/v1/namespaces", [{"metadata": {"name": "isthmus"}}])
        slices = "/apis/discovery.k8s.io/v1/namespaces/isthmus/endpointslices"
        await _create(opened, slices, [_egress()])
        secrets = [_credentials(one) for one in targets]
        await _create(opened, "/api/v1/namespaces/isthmus/secrets", secrets)
        await _until_served(opened, LINKS)
        await _create(opened, LINKS, [_link(one) for one in targets])


async def _create(opened: aiohttp.ClientSession, path: str, bodies: Iterable[JsonObject]) -> None:
    for body in bodies:
        await send(opened, "POST", path, body)


async def _until_served(opened: aiohttp.ClientSession, path: str) -> None:
    """A kind is served a moment after its definition was stored."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with opened.get(path) as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(0.1)


def _egress() -> JsonObject:
    return {
        "metadata": {"name": "isthmus-egress-1", "labels": {SERVICE_NAME: "isthmus-egress"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ip]} for ip in ("10.1.0.7", "10.1.0.8")],
        "ports": [{"name": "any", "port": 1}],
    }


def _credentials(target: Linked) -> JsonObject:
    secret = base64.b64encode(json.dumps(target.kubeconfig).encode()).decode()
    return {"metadata": {"name": target.name}, "data": {"kubeconfig": secret}}


def _link(target: Linked) -> JsonObject:
    # What answers the probes of the gateway is the API server: it accepts connections.
    host, port = target.url.removeprefix("https://").split(":")
    return {
        "metadata": {"name": target.name},
        "spec": {
            "via": "api",
            "credentialsSecret": target.name,
            "clusterDomain": target.domain,
            "enableHeadlessServices": target.has_pods,
            "gateway": {"addresses": [host], "port": int(port)},
            "limits": {"services": 20_000},
        },
        "apiVersion": "isthmus.dev/v1alpha1",
        "kind": "Link",
    }


def _come_to_rest(plane: ControlPlane) -> None:
    """Wait until the API server has done what it does after a start; not for ever."""
    pid = plane.supervisor.pid(API_SERVER.name)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = processor_seconds(pid)
        time.sleep(1)
        if processor_seconds(pid) - before < QUIET:
            return


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
