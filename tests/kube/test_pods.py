"""A page of a pod comes through the API server, or an error says what to do."""

import asyncio

import pytest
from aiohttp import web

from isthmus.kube import pods
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, Garbled, NotFound, Rejected, Unavailable, Unreachable
from isthmus.kube.resources import untyped
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from tests.support.machine import cluster
from tests.support.scripted import Breaks, Says, Script, refuses

POD = Key("isthmus", "isthmus-controller-0")
TEXT = {"content-type": "text/plain; version=0.0.4"}


def text(body: str, status: int = 200) -> Says:
    return Says((body.encode(),), status, TEXT)


async def asked(answer: Says | Breaks, path: str = "/metrics") -> str:
    return await pods.page(Client(Script(answer)), POD, 9990, path)


@pytest.mark.parametrize("path", ["/metrics", "metrics"])
async def test_a_page_is_asked_for_by_the_pods_name_and_port(path: str) -> None:
    script = Script(text("up 1\n"))
    assert await pods.page(Client(script), POD, 9990, path) == "up 1\n"
    (request,) = script.requests
    assert request.method == "GET"
    assert request.path == (
        "/api/v1/namespaces/isthmus/pods/isthmus-controller-0:9990/proxy/metrics"
    )
    assert request.headers["Accept"].startswith("text/plain")


@pytest.mark.parametrize(
    "answer, kind, said",
    [
        pytest.param(
            refuses(403, "Forbidden", "no"),
            Forbidden,
            "no; it takes the verb get on pods/proxy in namespace isthmus",
            id="not allowed",
        ),
        pytest.param(
            refuses(404, "NotFound", 'pods "isthmus-controller-0" not found'),
            NotFound,
            'pods "isthmus-controller-0" not found',
            id="no such pod",
        ),
        pytest.param(text("404 page not found", 404), NotFound, "page not found", id="no page"),
        pytest.param(
            refuses(503, "ServiceUnavailable", "error trying to reach service: dial tcp: refused"),
            Unreachable,
            "dial tcp: refused (503); does the pod run? "
            "Does every NetworkPolicy let the API server in?",
            id="nobody listens",
        ),
        pytest.param(
            refuses(400, "BadRequest", "address not allowed"),
            Unreachable,
            "the pod has no address yet",
            id="no address",
        ),
        pytest.param(refuses(400, "BadRequest", "what?"), Rejected, "what?", id="misunderstood"),
        pytest.param(text("not ready", 503), Unavailable, "not ready", id="the pod is not ready"),
        pytest.param(Breaks(), Unreachable, "connection refused", id="no API server"),
    ],
)
async def test_an_error_says_whose_it_is(
    answer: Says | Breaks, kind: type[IsthmusError], said: str
) -> None:
    with pytest.raises(kind) as raised:
        await asked(answer)
    assert type(raised.value) is kind
    assert said in str(raised.value)
    assert "get pods/proxy isthmus/isthmus-controller-0:9990/metrics: " in str(raised.value)


async def test_a_pod_that_stays_silent_is_given_up_soon() -> None:
    clock = asyncio.get_running_loop().time
    began = clock()
    with pytest.raises(Unreachable, match="not answered within 10 s"):
        await asked(Says((b"up", 5.0, b" 1"), headers=TEXT, stays=True))
    assert clock() - began == pytest.approx(pods.PATIENCE)


async def test_a_page_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "LARGEST", 10)
    with pytest.raises(Garbled, match="larger than 10 bytes"):
        await asked(Says((b"123456", b"123456"), headers=TEXT, stays=True))


async def test_bytes_that_are_no_text_are_replaced() -> None:
    assert await asked(Says((b"up \xff 1",), headers=TEXT)) == "up \ufffd 1"


@pytest.mark.sockets
async def test_a_page_comes_through_an_embedded_cluster() -> None:
    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.path} {request.headers['accept'].partition(',')[0]}\n")

    west = cluster("west")
    address = west.pod_range.replace(".0/19", ".9")
    plain = untyped("v1", "Pod", "pods", namespaced=True)
    client = Client(west.transport())
    web_0 = {
        "metadata": {"name": "web-0", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "any"}]},
    }
    await client.create(plain, web_0)
    await client.merge_patch(
        plain, Key("default", "web-0"), {"status": {"podIP": address}}, "status"
    )
    server = web.Application()
    server.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(server, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        port = runner.addresses[0][1]
        assert await pods.page(client, Key("default", "web-0"), port, "/metrics") == (
            "/metrics text/plain\n"
        )
    finally:
        await runner.cleanup()
