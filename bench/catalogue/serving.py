"""``python -m bench.catalogue.serving EXPORTS``: a catalogue, the server of it, and its gateway.

What a controller does for those who follow, in a process of its own, with a real Envoy before it.
It says how to reach it, and does then what lines of its input ask for; it ends with its input.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TypeAlias

import msgspec
from aiohttp import web

from bench.catalogue.figures import Server
from bench.dataplane import mesh
from bench.dataplane.proxies import GATEWAY, controller, proxy
from bench.kernel import processor_seconds
from bench.meter import memory
from bench.population import endpoint_slice, service
from isthmus.apps.credentials import server_context
from isthmus.catalogue.callers import Site as Own
from isthmus.catalogue.messages import VERSION, Hello
from isthmus.catalogue.offers import Offers
from isthmus.catalogue.serving import mount
from isthmus.core.grant import Permit
from isthmus.core.offer import Offer, offer
from isthmus.envoy.process import Envoy
from isthmus.model.exports import Export
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.objects import EndpointSlice, Service
from isthmus.model.routes import Callers, GatewayRoutes, Place
from isthmus.xds import gateway, secrets
from isthmus.xds.names import OWN_FILE, Site
from isthmus.xds.resources import Resource, together
from isthmus.xds.snapshot import snapshot

OWN = Own(cluster="west", mesh_domain=MESH_DOMAIN, namespace="isthmus")
HELLO = Hello(
    version=VERSION,
    cluster="west",
    uid="0b2e7a30-0000-4000-8000-000000000001",
    mesh_domain=MESH_DOMAIN,
    cluster_domain="west.cluster.local",
)
PATIENCE = 60.0
PAUSE = 0.02  # seconds between single changes


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How a follower gets there, and how long it took to have something to say."""

    address: str
    port: int
    anchors: str
    papers: str  # the chain and the key of whom the follower is
    digest: float
    empty: Server


Seen: TypeAlias = tuple[Service, EndpointSlice]


def seen(number: int) -> Seen:
    """Return one exported Service as a watch shows it."""
    body = service(number, headless=False)
    body["metadata"] |= {"uid": f"{number:08x}-0000-4000-8000-000000000000", "resourceVersion": "7"}
    slice_of_it = endpoint_slice(number, body["metadata"]["uid"])
    return msgspec.convert(body, Service), msgspec.convert(slice_of_it, EndpointSlice)


def offered(one: Seen, version: str = "") -> Offer:
    """Return what is said about it, digested as the controller digests it."""
    found = offer(one[0], one[1:])
    assert found is not None, "it is marked for export"
    assert isinstance(found.said, Export), found.said
    if not version:
        return found
    return Offer(msgspec.structs.replace(found.said, version=version), found.labels)


def permit() -> Permit:
    """Let east see and call everything."""
    whole = Callers(prefixes=(f"spiffe://east.{MESH_DOMAIN}/",))
    return Permit(cluster="east", callers=whole, namespaces=None, services=None, selector=None)


class Serving:
    """Changes what is offered, as it is told to."""

    def __init__(self, offers: Offers, envoy: Envoy, exports: int) -> None:
        self._offers = offers
        self._envoy = envoy
        self._exports = exports
        self._seen: list[Seen] = []

    def cost(self) -> Server:
        assert self._envoy.pid is not None
        return Server(
            cpu=time.process_time(),
            kept=memory("VmRSS", os.getpid()),
            envoy_cpu=processor_seconds(self._envoy.pid),
            envoy_kept=memory("VmRSS", self._envoy.pid),
        )

    def fill(self) -> float:
        """Offer everything; return how long it took to digest and to encode it."""
        self._seen = [seen(number) for number in range(self._exports)]
        began = time.perf_counter()
        for one in self._seen:
            self._put(offered(one))
        return time.perf_counter() - began

    async def change(self, count: int, pause: float) -> None:
        """Change so many, each of which carries the moment at which it was made."""
        for number in range(count):
            one = self._seen[number % self._exports]
            self._put(offered(one, str(time.monotonic_ns())))
            if pause:
                await asyncio.sleep(pause)

    def _put(self, one: Offer) -> None:
        self._offers.put(one.said.key, one)


async def serve(exports: int) -> None:
    offers = Offers(lambda: HELLO)
    offers.permit([permit()])
    with tempfile.TemporaryDirectory() as folder:
        async with (
            _https(offers) as port,
            controller() as told_by,
            proxy(GATEWAY, told_by, Path(folder)) as envoy,
        ):
            await told_by.tell(GATEWAY, snapshot(together(_told(port))), PATIENCE)
            await _obey(Serving(offers, envoy, exports))


async def _obey(serving: Serving) -> None:
    """Say where to find us, then do what is asked for."""
    empty = serving.cost()
    digest = serving.fill()
    shown = mesh.credentials(mesh.FOLLOWER)
    _say(
        Reach(
            address=mesh.GATEWAY_AT,
            port=4143,
            anchors=mesh.anchors().pem().decode(),
            papers=(shown.chain_pem + shown.key_pem).decode(),
            digest=digest,
            empty=empty,
        )
    )
    while asked := (await asyncio.to_thread(sys.stdin.readline)).split():
        match asked:
            case ["single", count]:
                await serving.change(int(count), PAUSE)
            case ["burst", count]:
                await serving.change(int(count), 0.0)
            case ["cost"]:
                _say(serving.cost())


def _say(said: msgspec.Struct) -> None:
    print(msgspec.json.encode(said).decode(), flush=True)


@asynccontextmanager
async def _https(offers: Offers) -> AsyncIterator[int]:
    app = web.Application()
    mount(app, offers, OWN, _peer, Random())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    context = server_context(mesh.credentials(mesh.CONTROLLER), mesh.anchors())
    try:
        await web.TCPSite(runner, mesh.CONTROLLER_AT, 0, ssl_context=context).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _peer(request: web.Request) -> str | None:
    certificate = request.get_extra_info("peercert") or {}
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI"]
    return names[0] if len(names) == 1 else None


def _told(port: int) -> Iterator[Resource]:
    """Yield what the gateway is told: the way to the catalogue, and nothing else."""
    routes = GatewayRoutes(
        inbound=(),
        catalogue=(Place(address=mesh.CONTROLLER_AT, port=port),),
        catalogue_callers=Callers(exact=(str(mesh.FOLLOWER),)),
        controller=str(mesh.CONTROLLER),
    )
    resources = gateway.gateway(routes, Site(address=mesh.GATEWAY_AT, own=OWN_FILE))
    yield from (one for named in resources.values() for one in named.values())
    yield secrets.anchors(mesh.anchors().pem())


def main() -> None:
    (exports,) = map(int, sys.argv[1:])
    logging.basicConfig(level=logging.CRITICAL)
    asyncio.run(serve(exports))


if __name__ == "__main__":
    main()
