"""A controller's server and real Envoys that ask it, on one loopback address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from envoy.service.discovery.v3 import discovery_pb2

from isthmus.envoy.ads import AdsServer, Papers
from isthmus.envoy.bootstrap import Proxy
from isthmus.envoy.process import Envoy, Options
from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.pki.keys import chain_pem
from isthmus.runtime.clock import SystemClock
from isthmus.xds import secrets
from isthmus.xds.names import ANCHORS_FILE, OWN_FILE
from isthmus.xds.resources import Resource
from tests.support import pki
from tests.support.waiting import until

CONTROLLER = pki.identity("west", "isthmus-controller", "isthmus")
GATEWAY = pki.identity("west", "isthmus-gateway", "isthmus")
ADDRESS = "127.77.1.1"
ANCHORS = chain_pem(pki.anchor().certificate)


def papers(who: Identity = CONTROLLER, anchors: bytes = ANCHORS) -> Papers:
    shown = pki.credentials(who)
    return Papers(shown.chain_pem, shown.key_pem, anchors)


def role(identity: Identity) -> str | None:
    return "gateway" if identity == GATEWAY else None


def server() -> AdsServer:
    return AdsServer(MESH_DOMAIN, papers, role)


@asynccontextmanager
async def envoy(
    directory: Path,
    port: int,
    who: Identity = GATEWAY,
    *,
    drain: float = 5,
    linger: float = 0,
    stop: asyncio.Event | None = None,
) -> AsyncIterator[Envoy]:
    """Run an Envoy that asks the server on ``port``, until the end or until ``stop`` is set."""
    shown = pki.credentials(who)
    keep(directory / OWN_FILE, secrets.own(shown.chain_pem, shown.key_pem))
    keep(directory / ANCHORS_FILE, secrets.anchors(ANCHORS))
    proxy = Proxy(
        name="gateway-0",
        role="gateway",
        cluster="west",
        controller=(ADDRESS, port),
        controller_identity=str(CONTROLLER),
        metrics=(ADDRESS, 0),
    )
    options = Options(directory=directory, concurrency=1, drain=drain, linger=linger)
    made, stop = Envoy(proxy, options, SystemClock(), Random()), stop or asyncio.Event()
    running = asyncio.create_task(made.run(stop))
    try:
        yield made
    finally:
        stop.set()
        await running


async def live(made: Envoy) -> None:
    await until(made.admin.ready, bool)


def keep(path: Path, resource: Resource) -> None:
    """Write a secret to a file, the way Envoy reads it."""
    answer = discovery_pb2.DiscoveryResponse(version_info=resource.version)
    answer.resources.append(resource.packed)
    path.write_bytes(answer.SerializeToString())
