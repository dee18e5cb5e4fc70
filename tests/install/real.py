"""Isthmus as it is installed in a real cluster, and its controller with the rights that it has."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

from isthmus.apps.controller.carrying.proxies import Role
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import Controller
from isthmus.catalogue.following import Open
from isthmus.cli.installing.bringing import Delivery
from isthmus.install.values import Values
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.http import HttpTransport
from isthmus.model.objects import Key, ObjectReference
from isthmus.model.reviews import TokenRequest, TokenRequestSpec
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock
from isthmus.xds.snapshot import Snapshot
from lab.controlplane import ControlPlane
from tests.apps.clusters import Air, Place
from tests.contract.summary import HOW_TO_BUILD, IS_BUILT
from tests.support.transports import Bearer

HOME, CONTROLLER = "isthmus", "isthmus-controller"
ACCOUNT = f"system:serviceaccount:{HOME}:{CONTROLLER}"
REAL = [
    pytest.mark.sockets,
    pytest.mark.real,
    pytest.mark.skipif(not IS_BUILT, reason=HOW_TO_BUILD),
]


@asynccontextmanager
async def reached(plane: ControlPlane, token: str = "") -> AsyncIterator[Place]:
    """The cluster, as whoever has ``token``; its administrator unless one is said."""
    endpoint = ApiServer(url=plane.url, ca_pem=plane.papers.ca_pem.encode())
    client = Client(Bearer(HttpTransport(endpoint), token or plane.admin_token))
    try:
        yield Place(plane.settings.name, client)
    finally:
        await client.close()


async def install(admin: Place, values: Values) -> list[tuple[str, str]]:
    """Bring an installation into the cluster; return what became of each object."""
    said: list[tuple[str, str]] = []

    def say(obj: JsonObject, outcome: str) -> None:
        said.append((f"{obj['kind']}/{obj['metadata']['name']}", outcome))

    await Delivery(admin.client, values, say, SystemClock()).run()
    return said


async def token(admin: Place, account: str, audience: str = "", pod: str = "") -> str:
    """A token as kubelets mount it: for the API server, or for an ``audience`` and one ``pod``."""
    reference = ObjectReference(kind="Pod", api_version="v1", name=pod) if pod else None
    audiences = (audience,) if audience else ()
    wanted = TokenRequestSpec(audiences=audiences, bound_object_ref=reference)
    made = await admin.client.request_token(Key(HOME, account), TokenRequest(spec=wanted))
    return made.status.token


@dataclass(slots=True)
class Running:
    """A controller at work, and what it tells its proxies."""

    controller: Controller
    told: dict[Role, Snapshot] = field(default_factory=dict)

    def last(self, role: Role) -> Snapshot:
        return self.told[role]


@asynccontextmanager
async def controlling(own: Place, catalogue: Open) -> AsyncIterator[Running]:
    """Run a controller with the rights of ``own``."""
    outside = Outside(
        client=own.client, catalogue=catalogue, network=Air(), clock=SystemClock(), random=Random(1)
    )
    config = Config(
        cluster_name="east",
        cluster_domain="east.cluster.local",
        allow_loopback=True,
        address="127.0.0.1",
        admin_port=None,
        sign_port=0,
        ads_port=0,
    )
    controller = Controller(config, outside)
    running, stop = Running(controller), asyncio.Event()
    controller.dataplane.proxies.tell(running.told.__setitem__)
    task = asyncio.create_task(controller.run(stop))
    try:
        yield running
    finally:
        stop.set()
        await task
