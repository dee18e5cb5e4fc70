"""The controller as people run it: a process between two real API servers."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from operator import eq
from pathlib import Path

import aiohttp
import pytest
import yaml

from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.http import HttpTransport
from isthmus.kube.resources import LEASES
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from lab.controlplane import ControlPlane, Settings, control_plane
from tests.apps.clusters import (
    EVENTS,
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Place,
    endpoints,
    exported,
    furnish,
    link,
    secret,
    settled,
)
from tests.apps.test_tutorial import tell
from tests.contract.summary import HOW_TO_BUILD, IS_BUILT
from tests.support.transports import Bearer
from tests.support.waiting import until

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.real,
    pytest.mark.skipif(not IS_BUILT, reason=HOW_TO_BUILD),
]


@pytest.fixture(scope="module")
def planes() -> Iterator[tuple[ControlPlane, ControlPlane]]:
    with (
        control_plane(Settings(name="east", domain="east.cluster.local")) as east,
        control_plane(
            Settings(name="west", domain="west.cluster.local", service_range="10.97.0.0/16")
        ) as west,
    ):
        yield east, west


@asynccontextmanager
async def reached(plane: ControlPlane) -> AsyncIterator[Place]:
    endpoint = ApiServer(url=plane.url, ca_pem=plane.papers.ca_pem.encode())
    client = Client(Bearer(HttpTransport(endpoint), plane.admin_token))
    try:
        yield Place(plane.settings.name, client)
    finally:
        await client.close()


@asynccontextmanager
async def both(planes: tuple[ControlPlane, ControlPlane]) -> AsyncIterator[tuple[Place, Place]]:
    """Two clusters with nothing of an earlier test in them, and a link between them."""
    async with reached(planes[0]) as east, reached(planes[1]) as west:
        if await east.get(LINKS, "west") is None:
            await furnish(east)
            raw = yaml.safe_dump(planes[1].kubeconfig()).encode()
            await east.create(PLAIN_SECRETS, secret("west", raw))
            # What answers the probe is west's API server: anything that accepts a connection.
            host, port = planes[1].url.removeprefix("https://").split(":")
            gateway = {"addresses": [host], "port": int(port)}
            await until_served(east)
            await east.create(LINKS, link("west", gateway=gateway))
        yield east, west


async def until_served(east: Place) -> None:
    """A kind is served a moment after its definition was stored."""

    async def is_served() -> bool:
        try:
            await east.all(LINKS)
        except NotFound:
            return False
        return True

    await until(is_served, lambda found: found)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def controller(
    plane: ControlPlane, folder: Path, port: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    """``isthmus controller`` outside the cluster; ended in good order unless it was killed."""
    path = folder / "east.yaml"
    path.write_text(yaml.safe_dump(plane.kubeconfig()))
    with (folder / "controller.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "isthmus"),
            *("controller", "--kubeconfig", str(path), "--cluster-name", "east"),
            *("--allow-loopback", "--admin-port", str(port), "--log-format", "json"),
            stderr=log,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0, (folder / "controller.log").read_text()
        else:
            assert process.returncode == -signal.SIGKILL


async def versions(east: Place) -> dict[str, str]:
    """What would differ after any write to a mirror."""
    found: list[JsonObject] = []
    for resource in (SERVICES, SLICES):
        found += await east.all(resource, labels="mirror.linkerd.io/mirrored-service=true")
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in found}


async def page(port: int, path: str) -> str:
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                return await answer.text() if answer.status == 200 else ""
        except aiohttp.ClientConnectionError:
            return ""


def has_caught_up(metrics: str) -> bool:
    return "isthmus_leading 1.0" in metrics and "isthmus_queue_depth 0.0" in metrics


async def test_the_tutorial_on_real_api_servers(
    planes: tuple[ControlPlane, ControlPlane], tmp_path: Path
) -> None:
    async with both(planes) as (east, west):
        port = free_port()
        async with controller(planes[0], tmp_path, port):
            await until(lambda: page(port, "/readyz"), bool)
            await tell(east, west)
            metrics = await page(port, "/metrics")
            assert 'gateway_alive{target_cluster_name="west"} 1.0' in metrics
            assert "isthmus_leading 1.0" in metrics
            await until(lambda: east.all(EVENTS, "default"), bool)
        lease = await east.client.get(LEASES, Key("isthmus", "isthmus-controller"))
        assert not lease.spec.holder_identity


async def is_headless(east: Place, name: str) -> bool | None:
    found = await east.get(SERVICES, name)
    return None if found is None else found["spec"]["clusterIP"] == "None"


async def refusals(east: Place) -> dict[str, str]:
    found = (await east.link()).get("status", {}).get("refused", ())
    return {one["name"]: one["reason"] for one in found}


async def test_hostile_objects_on_real_api_servers(
    planes: tuple[ControlPlane, ControlPlane], tmp_path: Path
) -> None:
    """What the API server itself has a say in; the rest is shown on embedded ones."""
    async with both(planes) as (east, west), controller(planes[0], tmp_path, free_port()):
        mine = {"metadata": {"name": "taken-west", "namespace": "default"}}
        theirs = await east.create(SERVICES, {**mine, "spec": {"ports": [{"port": 1}]}})
        await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
        for one in (
            exported("taken"),
            exported("dns", namespace="kube-system"),
            exported("web", namespace="shop"),
            exported("good"),
            exported("n" * 62),
        ):
            await west.create(SERVICES, one)
        expected = {
            "taken": "NameTaken",
            "dns": "NamespaceProtected",
            "web": "NamespaceMissing",
        }
        await until(lambda: refusals(east), lambda found: found == expected, within=30)
        (long,) = [one for one in await east.mirrors() if one.startswith("nn")]
        assert len(long) == 63
        await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
        await settled(east, ["good-west", long, "shop/web-west"])

        await east.edit(
            SERVICES,
            "good-west",
            {"spec": {"selector": {"app": "x"}, "externalIPs": ["192.0.2.9"]}},
        )

        async def good() -> JsonObject:
            return await east.get(SERVICES, "good-west") or {"spec": {}}

        await until(good, lambda one: not {"selector", "externalIPs"} & one["spec"].keys())
        uid = (await good())["metadata"]["uid"]
        await east.delete(SERVICES, "good-west")
        await until(good, lambda one: one.get("metadata", {}).get("uid") not in (None, uid))

        await west.create(SLICES, endpoints("flip", "flip-0"))
        for headless in (True, False):
            await west.create(SERVICES, exported("flip", headless=headless))
            more = ["flip-west", *(["flip-0-west"] if headless else [])]
            await settled(east, ["good-west", long, "shop/web-west", *more])
            await until(lambda: is_headless(east, "flip-west"), partial(eq, headless))
            await west.delete(SERVICES, "flip")

        assert await east.get(SERVICES, "taken-west") == theirs
        await east.delete(SERVICES, "taken-west")
        await until(lambda: refusals(east), lambda found: set(found) == {"dns"})
        for name, space in (
            ("taken", "default"),
            ("dns", "kube-system"),
            ("web", "shop"),
            ("good", "default"),
            ("n" * 62, "default"),
        ):
            await west.delete(SERVICES, name, space)
        await settled(east, [], within=30)


async def test_a_killed_controller_comes_back_and_writes_nothing(
    planes: tuple[ControlPlane, ControlPlane], tmp_path: Path
) -> None:
    async with both(planes) as (east, west):
        names = [f"shop-{number}" for number in range(20)]
        for name in names:
            await west.create(SERVICES, exported(name))
            await west.create(SLICES, endpoints(name, "10.2.0.1"))
        wanted = [f"{name}-west" for name in names]
        async with controller(planes[0], tmp_path, free_port()) as process:
            await until(east.mirrors, bool)
            process.kill()
            await process.wait()
        port = free_port()
        async with controller(planes[0], tmp_path, port):
            await settled(east, wanted, within=60)
            await until(lambda: versions(east), lambda found: len(found) == 40)
            before = await versions(east)
        async with controller(planes[0], tmp_path, port):
            await until(lambda: page(port, "/metrics"), has_caught_up, within=30)
            await west.create(SERVICES, exported("last"))
            await settled(east, [*wanted, "last-west"])
            after = await versions(east)
            assert {uid: after.get(uid) for uid in before} == before
            await east.delete(LINKS, "west")
            await settled(east, [])
            await until(lambda: east.get(LINKS, "west"), lambda found: found is None)
