"""A request to a pod's ``proxy`` is passed on to what runs at the pod's address."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from isthmus.embedded.api import proxying
from isthmus.embedded.cluster import Cluster
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.support.embedded import NAMESPACED, Answered, Talk, talk
from tests.support.machine import cluster

pytestmark = pytest.mark.sockets

PODS = f"{NAMESPACED}/pods"


async def _told(request: web.Request) -> web.Response:
    told = {"path": request.raw_path, "authorization": request.headers.get("authorization")}
    return web.json_response(told | {"accept": request.headers.get("accept")}, status=202)


async def _elsewhere(_request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"location": "/other"})


async def _large(_request: web.Request) -> web.Response:
    return web.Response(body=bytes(2000))


@asynccontextmanager
async def listening(address: str) -> AsyncIterator[int]:
    """Something that runs in a pod, and its port."""
    application = web.Application()
    application.add_routes([web.get("/elsewhere", _elsewhere), web.get("/large", _large)])
    application.add_routes([web.get("/{path:.*}", _told)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def pod(port: int = 80) -> JsonObject:
    container = {"name": "main", "image": "any", "ports": [{"containerPort": port}]}
    return {"metadata": {"name": "web"}, "spec": {"containers": [container]}}


async def placed(west: Cluster, address: str, port: int = 80) -> Talk:
    """A pod that is said to run at ``address``, and its cluster's administrator."""
    admin = talk(west)
    await admin.create(PODS, pod(port))
    done = await admin.merge(f"{PODS}/web/status", {"status": {"podIP": address}})
    assert done.status == 200, done.raw
    return admin


def own_address(west: Cluster) -> str:
    return west.pod_range.replace(".0/19", ".7")


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Talk, str]]:
    """A cluster's administrator, and the path to what runs in its pod."""
    west = cluster("west")
    async with listening(own_address(west)) as port:
        yield await placed(west, own_address(west)), f"{PODS}/web:{port}/proxy"


async def test_the_pod_gets_the_rest_of_the_path_and_the_query_as_they_are() -> None:
    async with running() as (admin, proxy):
        answered = await admin.get(f"{proxy}/a%20b/c", used="only")
    assert answered.status == 202
    assert answered.body["path"] == "/a%20b/c?used=only"


@pytest.mark.parametrize("end, path", [("", "/"), ("/", "/"), ("/a/", "/a/"), ("//a", "//a")])
async def test_slashes_arrive_as_they_are(end: str, path: str) -> None:
    async with running() as (admin, proxy):
        assert (await admin.get(f"{proxy}{end}")).body["path"] == path


async def test_the_pod_learns_what_is_accepted_but_no_credential() -> None:
    async with running() as (admin, proxy):
        asked = Request(method="GET", path=f"{proxy}/x", headers={"accept": "text/plain"})
        async with admin.transport.send(asked) as response:
            kind = response.headers["content-type"]
            told = json.loads(b"".join([chunk async for chunk in response.chunks()]))
    assert kind == "application/json; charset=utf-8"
    assert told == {"path": "/x", "authorization": None, "accept": "text/plain"}


async def test_a_redirect_is_passed_back_and_not_followed() -> None:
    async with running() as (admin, proxy):
        assert (await admin.get(f"{proxy}/elsewhere")).status == 302


async def test_without_a_port_it_is_the_first_that_the_pod_declares() -> None:
    west = cluster("west")
    async with listening(own_address(west)) as port:
        admin = await placed(west, own_address(west), port)
        assert (await admin.get(f"{PODS}/web/proxy/x")).status == 202


async def test_a_page_that_is_too_large_is_not_passed_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxying, "LARGEST", 1999)
    async with running() as (admin, proxy):
        answered = await admin.get(f"{proxy}/large")
    assert refusal(answered) == (
        503,
        "error trying to reach service: the answer is larger than 1999 bytes",
    )


async def test_a_pod_at_which_nobody_listens_is_said_to_be_unreachable() -> None:
    west = cluster("west")
    address = own_address(west)
    admin = await placed(west, address)
    async with listening(address) as port:
        pass
    assert refusal(await admin.get(f"{PODS}/web:{port}/proxy/")) == (
        503,
        f"error trying to reach service: dial tcp {address}:{port}: connect: connection refused",
    )


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "192.0.2.1", "10.244.0.9", "::1"]
)
async def test_no_request_is_passed_on_to_what_is_no_pod_of_the_cluster(address: str) -> None:
    admin = await placed(cluster("west"), address)
    assert refusal(await admin.get(f"{PODS}/web:80/proxy/")) == (400, "address not allowed")


async def test_no_request_leaves_the_machine() -> None:
    admin = await placed(Cluster("west"), "10.244.0.9")
    assert refusal(await admin.get(f"{PODS}/web:80/proxy/")) == (
        503,
        "error trying to reach service: no machine runs this cluster's pods",
    )


@pytest.mark.parametrize("name", ["web:x", "https:web:80", "web:-1", "web:123456", "web:٣"])
async def test_what_is_no_port_is_refused(name: str) -> None:
    admin = await placed(Cluster("west"), "10.244.0.9")
    answered = await admin.get(f"{PODS}/{name}/proxy/")
    assert refusal(answered) == (400, f'invalid pod request "{name}"')


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_pages_can_be_read_only(method: str) -> None:
    async with running() as (admin, proxy):
        assert (await admin.ask(method, f"{proxy}/x")).status == 405


def refusal(answered: Answered) -> tuple[int, str]:
    assert answered.body["kind"] == "Status"
    return answered.status, answered.body["message"]
