"""The HTTPS front, over real sockets."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from io import BytesIO

import aiohttp
import msgspec
import pytest

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect, Serve
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def session(served: Served) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cadata=served.ca_pem)
    async with aiohttp.ClientSession(
        served.url,
        headers={"Authorization": f"Bearer {served.token}"},
        connector=aiohttp.TCPConnector(ssl=context),
        auto_decompress=False,
    ) as opened:
        yield opened


async def create(client: aiohttp.ClientSession, obj: JsonObject) -> None:
    async with client.post(CONFIG_MAPS, json=obj) as answer:
        assert answer.status == 201


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name}, "data": data}


async def test_clients_verify_the_server() -> None:
    async with serve(Cluster("west")) as served, session(served) as client:
        async with client.get("/version") as answer:
            assert answer.status == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get("/version", ssl=ssl.create_default_context())


async def test_pods_are_given_the_authority_that_signed_the_server() -> None:
    async with serve(Cluster("west")) as served, session(served) as client:
        found = msgspec.json.decode(await read(client, f"{CONFIG_MAPS}/kube-root-ca.crt"))
    assert found["data"]["ca.crt"] == served.ca_pem


async def test_an_event_is_sent_at_once_and_a_client_that_leaves_is_forgotten() -> None:
    cluster = Cluster("west")
    async with serve(cluster) as served, session(served) as client:
        ended = asyncio.Event()
        cluster.faults.add(noting_the_end(ended), lambda request: ("watch", "1") in request.query)
        async with client.get(CONFIG_MAPS, params={"watch": "1"}) as watch:
            await create(client, config_map("new"))
            seen = ""
            while seen != "new":
                async with asyncio.timeout(5):
                    event: JsonObject = msgspec.json.decode(await watch.content.readline())
                seen = event["object"]["metadata"]["name"]
        async with asyncio.timeout(5):
            await ended.wait()


def noting_the_end(ended: asyncio.Event) -> Effect:
    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        assert answer.stream is not None

        async def stream(inner: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
            try:
                async with aclosing(inner):
                    async for chunk in inner:
                        yield chunk
            finally:
                ended.set()

        return Answer(status=200, headers=answer.headers, stream=stream(answer.stream))

    return effect


async def test_large_answers_are_compressed_for_those_who_ask() -> None:
    async with serve(Cluster("west")) as served, session(served) as client:
        await create(client, config_map("big", text="x" * 200_000))
        path = f"{CONFIG_MAPS}/big"
        async with client.get(path, headers={"Accept-Encoding": "gzip"}) as answer:
            raw = await answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
            assert len(raw) < 10_000
        async with client.get(path, headers={"Accept-Encoding": "identity"}) as answer:
            assert await answer.read() == gzip.decompress(raw)


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with serve(Cluster("west")) as served, session(served) as client:
        async with client.post(CONFIG_MAPS, data=BytesIO(b"x" * 3_200_000)) as answer:
            assert answer.status == 413
            status = msgspec.json.decode(await answer.read())
        assert (status["kind"], status["reason"]) == ("Status", "RequestEntityTooLarge")


ASKED = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "sent, status",
    [
        pytest.param(b"Authorization: Bearer \xff\xfe\r\n\r\n", b"401", id="a token of no text"),
        pytest.param(b"<admin>Impersonate-User: \xff\r\n\r\n", b"403", id="a user of no text"),
        pytest.param(
            b"<admin>Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
            b"400",
            id="not what its encoding says",
        ),
        pytest.param(b"Transfer-Encoding: no\r\n\r\n", b"400", id="not HTTP"),
    ],
)
async def test_a_broken_request_is_the_clients_mistake_and_not_logged(
    sent: bytes, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(Cluster("west"), tls=False) as served, asyncio.timeout(5):
        admin = f"Authorization: Bearer {served.token}\r\n".encode()
        answer = await raw_answer(served, ASKED + sent.replace(b"<admin>", admin))
    assert answer.split()[1] == status
    assert not caplog.records


async def raw_answer(served: Served, sent: bytes) -> bytes:
    host, _, port = served.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_mistake_of_ours_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_request: Request, _serve: Serve) -> Answer:
        raise LookupError("ours")

    cluster = Cluster("west")
    cluster.faults.add(broken)
    async with (
        serve(cluster) as served,
        session(served) as client,
        client.get("/version") as answer,
    ):
        assert answer.status == 500
    assert "ours" in caplog.text


@pytest.mark.parametrize("tls", [True, False], ids=["https", "http"])
async def test_a_fault_breaks_silent_connections(tls: bool) -> None:
    cluster = Cluster("west")
    async with serve(cluster, tls=tls) as served:
        headers = {"Authorization": f"Bearer {served.token}"}
        context = ssl.create_default_context(cadata=served.ca_pem) if tls else True
        async with (
            aiohttp.ClientSession(served.url, headers=headers) as client,
            client.get("/api/v1/nodes", params={"watch": "1"}, ssl=context) as watch,
        ):
            assert watch.status == 200
            cluster.faults.disconnect()
            async with asyncio.timeout(5):
                with pytest.raises((aiohttp.ClientError, ConnectionError)):
                    await watch.read()


@pytest.mark.parametrize("after", [0, 10], ids=["before the first byte", "in the middle of JSON"])
async def test_a_cut_answer_breaks_the_connection(after: int) -> None:
    cluster = Cluster("west")
    cluster.faults.add(effects.cut(after), lambda request: request.path == "/api/v1/nodes")
    async with serve(cluster) as served, session(served) as client:
        with pytest.raises(aiohttp.ClientError):
            await read(client, "/api/v1/nodes")
        assert await read(client, "/readyz") == b"ok"


async def test_a_hanging_request_ends_with_its_connection() -> None:
    cluster = Cluster("west")
    cluster.faults.add(effects.hanging(cluster.faults), times=1)
    async with serve(cluster) as served, session(served) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await read(client, "/version")
        assert await read(client, "/readyz") == b"ok"


async def test_an_injected_error_looks_like_one_of_the_server() -> None:
    cluster = Cluster("west")
    cluster.faults.add(effects.failing(429, retry_after=7), times=1)
    async with (
        serve(cluster) as served,
        session(served) as client,
        client.get("/version") as answer,
    ):
        assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
        assert msgspec.json.decode(await answer.read())["kind"] == "Status"


async def read(client: aiohttp.ClientSession, path: str) -> bytes:
    async with client.get(path) as answer:
        return await answer.read()


async def test_a_stopped_server_answers_nothing() -> None:
    cluster = Cluster("west")
    async with serve(cluster) as served, session(served) as client:
        cluster.faults.stop()
        with pytest.raises(aiohttp.ClientError):
            await client.get("/version")
        cluster.faults.start()
        async with client.get("/version") as answer:
            assert answer.status == 200


async def test_closing_ends_open_watches() -> None:
    async with AsyncExitStack() as stack:
        async with serve(Cluster("west")) as served:
            client = await stack.enter_async_context(session(served))
            asked = client.get(CONFIG_MAPS, params={"watch": "1"})
            watch = await stack.enter_async_context(asked)
            assert watch.status == 200
        with pytest.raises(aiohttp.ClientError):
            await client.get("/version")
    await eventually(lambda: len(asyncio.all_tasks()) == 1)


async def test_percent_encoded_names_reach_the_api_as_they_were_sent() -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Athing"
    async with serve(Cluster("west")) as served, session(served) as client:
        async with client.get(path) as answer:
            status = msgspec.json.decode(await answer.read())
        assert '"system:thing" not found' in status["message"]


def test_a_token_is_not_shown() -> None:
    served = Served(cluster="west", url="https://x", ca_pem="", token="canary")
    assert "canary" not in repr(served)
    assert "canary" not in repr(served.entry())
