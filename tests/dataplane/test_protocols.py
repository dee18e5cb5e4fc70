"""What crosses from a pod of east to a pod of west, as what, from the first byte to the last."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256

import aiohttp
import grpc
import pytest
from aiohttp import web

from isthmus.embedded.machine.programs import PROGRAMS, Site
from isthmus.embedded.machine.streams import CHUNK, Stream, carry, listening, reset
from isthmus.model.wire import JsonObject
from tests.dataplane.fleet import served, shared
from tests.dataplane.http2 import Http2
from tests.dataplane.joined import Pair, pair
from tests.support.machine import pod, service, session
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

MIB = 1 << 20
BLOCK = bytes(range(256)) * (CHUNK // 256)
IDENTITY = "spiffe://east.isthmus/ns/default/sa/default"


@asynccontextmanager
async def digest(site: Site) -> AsyncIterator[None]:
    """Hear everything out, and only then say what it was."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = sha256()
        while data := await reader.read(CHUNK):
            heard.update(data)
        writer.write(heard.hexdigest().encode())

    async with listening(answer, site.address, site.ports):
        yield


LAST_WORDS: list[bytes] = []  # that were heard by pods which had nothing more to say


@asynccontextmanager
async def source(site: Site) -> AsyncIterator[None]:
    """Say as many bytes as are asked for; then end that, or hang up, or break off."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size, how = (await reader.readline()).decode().split()
        for _ in range(int(size) // CHUNK):
            writer.write(BLOCK)
            await writer.drain()
        if how == "end":
            writer.write_eof()
            LAST_WORDS.append(await reader.read())
        elif how == "break":
            await reader.readline()  # so that nothing is on its way any more
            reset(writer)

    async with listening(answer, site.address, site.ports):
        yield


@asynccontextmanager
async def show(site: Site) -> AsyncIterator[None]:
    """Answer with the request, as it came."""

    async def answer(request: web.BaseRequest) -> web.Response:
        body = await request.text()
        told = {"path": request.path, "body": body, "connection": id(request.transport)}
        return web.json_response({**told, "headers": dict(request.headers)})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, site.address, site.ports[0]).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def rpc(site: Site) -> AsyncIterator[None]:
    """Say each word of a stream back twice; refuse to say "nothing", and end after "enough"."""

    async def double(
        requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        metadata = dict(context.invocation_metadata())
        caller = metadata.get("x-forwarded-client-cert", "").rpartition("URI=")[2]
        context.set_trailing_metadata((("x-caller", caller),))
        async for one in requests:
            if one == b"nothing":
                await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such word")
            if one == b"enough":
                return
            yield one
            yield one

    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    handler = grpc.stream_stream_rpc_method_handler(double)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("test.Doubling", {"Run": handler}),)
    )
    server.add_insecure_port(f"{site.address}:{site.ports[0]}")
    await server.start()
    try:
        yield
    finally:
        await server.stop(None)


def serving(image: str, name: str, *ports: JsonObject) -> tuple[JsonObject, JsonObject]:
    """A pod, and an exported Service of it with these ports."""
    whole = [{"port": 80 + n, "targetPort": "http", **port} for n, port in enumerate(ports)]
    made = service(name, name, ports=whole)
    made["metadata"]["labels"] |= {"mirror.linkerd.io/exported": "true"}
    return pod(name, image), made


HTTP, TCP, GRPC = {"name": "http"}, {"name": "data"}, {"name": "grpc"}
# How a port is declared, and whether its traffic is treated as requests.
DECLARED: dict[str, tuple[JsonObject, bool]] = {
    "by name": ({"name": "http"}, True),
    "by the beginning of a name": ({"name": "http-api"}, True),
    "by protocol": ({"name": "web", "appProtocol": "http"}, True),
    "as WebSocket": ({"name": "live", "appProtocol": "kubernetes.io/ws"}, True),
    "protocol before name": ({"name": "http-raw", "appProtocol": "tcp"}, False),
    "unknown protocol": ({"name": "http-own", "appProtocol": "example.com/own"}, False),
    "unknown name": ({"name": "data"}, False),
    "a name that only looks like it": ({"name": "https"}, False),
}
WEST = (
    *serving("isthmus.dev/greeter", "greeter", TCP),
    *serving("test/digest", "digest", TCP),
    *serving("test/source", "source", TCP),
    *serving("test/show", "show", *(port for port, _ in DECLARED.values())),
    *serving("nginx", "web", HTTP),
    *serving("test/rpc", "rpc", GRPC, {"name": "calls", "appProtocol": "kubernetes.io/h2c"}),
)
NAMES = [one["metadata"]["name"] for one in WEST if one["kind"] == "Service"]
PROGRAMS_HERE = {
    **PROGRAMS,
    "test/digest": digest,
    "test/source": source,
    "test/show": show,
    "test/rpc": rpc,
}


@pytest.fixture(scope="module")
def two(runner: asyncio.Runner) -> Iterator[Pair]:
    made = pair(
        east=(pod("curl", serviceAccountName="default"),), west=WEST, programs=PROGRAMS_HERE
    )
    with shared(runner, made) as found:
        runner.run(served(found.east, *(f"{name}-west" for name in NAMES)))
        yield found


@asynccontextmanager
async def calling(two: Pair, host: str, port: int = 80) -> AsyncIterator[Stream]:
    stream = await two.east.machine.connect("curl", host, port)
    try:
        yield stream
    finally:
        stream[1].transport.abort()


async def test_a_server_may_speak_first_and_last(two: Pair) -> None:
    async with calling(two, "greeter-west") as (reader, writer):
        assert await reader.readline() == b"220 greeter\n"
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"
        writer.write(b"the end")
        writer.write_eof()
        assert await reader.read() == b"the end"


async def upload(two: Pair, size: int) -> None:
    """Send much, end that, and hear what it was: half of the connection is open to the last."""
    sent = sha256()
    async with calling(two, "digest-west") as (reader, writer):
        for _ in range(size // CHUNK):
            sent.update(BLOCK)
            writer.write(BLOCK)
            await writer.drain()
        writer.write_eof()
        assert (await reader.read()).decode() == sent.hexdigest()


async def download(two: Pair, size: int, how: str, *, pause: float = 0) -> None:
    """Hear much to its end. Who ends only his half hears the last word after that."""
    LAST_WORDS.clear()
    expected, heard = sha256(), sha256()
    async with calling(two, "source-west") as (reader, writer):
        writer.write(f"{size} {how}\n".encode())
        while data := await reader.read(CHUNK):
            heard.update(data)
            await asyncio.sleep(pause)
        for _ in range(size // CHUNK):
            expected.update(BLOCK)
        assert heard.digest() == expected.digest()
        if how == "end":
            writer.write(b"thank you")
            writer.write_eof()
            await eventually(lambda: LAST_WORDS == [b"thank you"])


async def test_much_arrives_as_it_was_sent_whoever_ends_first(two: Pair) -> None:
    await upload(two, 64 * MIB)
    await download(two, 64 * MIB, "end")
    await download(two, 64 * MIB, "close")


async def test_who_hears_slowly_loses_nothing_when_the_other_side_hangs_up(two: Pair) -> None:
    for size in (CHUNK, 8 * MIB):
        await download(two, size, "close", pause=0.001)


async def test_a_connection_that_breaks_off_does_not_look_complete(two: Pair) -> None:
    async with calling(two, "source-west") as (reader, writer):
        writer.write(f"{CHUNK} break\n".encode())
        await reader.readexactly(CHUNK)
        writer.write(b"go on\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()


@pytest.mark.e2e
async def test_a_gibibyte_arrives_as_it_was_sent(two: Pair) -> None:
    await upload(two, 1024 * MIB)
    await download(two, 1024 * MIB, "end")
    await download(two, 1024 * MIB, "close")


async def answer(stream: Stream, request: bytes) -> tuple[str, JsonObject]:
    """Say a request, and return the status and what the pod has seen."""
    reader, writer = stream
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    (length,) = (line for line in head.splitlines() if line.startswith("content-length: "))
    return head.split()[1], json.loads(await reader.readexactly(int(length.split()[1])))


async def test_requests_follow_each_other_on_one_connection_whole_or_in_chunks(two: Pair) -> None:
    async with calling(two, "show-west") as stream:
        status, first = await answer(stream, b"GET /a?b=c HTTP/1.1\r\nhost: own.example\r\n\r\n")
        assert (status, first["path"]) == ("200", "/a")
        assert first["headers"]["Host"] == "own.example"
        chunks = b"5\r\nhello\r\n1\r\n,\r\n6\r\n world\r\n0\r\n\r\n"
        head = b"POST /b HTTP/1.1\r\nhost: own.example\r\ntransfer-encoding: chunked\r\n\r\n"
        status, second = await answer(stream, head + chunks)
        assert (status, second["body"]) == ("200", "hello, world")
        assert second["headers"]["Transfer-Encoding"] == "chunked"
        assert second["connection"] == first["connection"]


async def test_an_answer_arrives_as_it_is_made(two: Pair) -> None:
    """Its first line is there long before its last one is said."""
    async with (
        session(two.east.machine, "curl") as client,
        client.get("http://web-west/stream?lines=2&pause=60") as reply,
    ):
        assert await reply.content.readline() == b"line 0\n"


async def test_a_web_socket_stays_open_both_ways(two: Pair) -> None:
    async with (
        session(two.east.machine, "curl") as client,
        client.ws_connect("http://web-west/websocket") as socket,
    ):
        for word in ("hello", "again"):
            await socket.send_str(word)
            assert await socket.receive_str() == word
        await socket.send_bytes(bytes(MIB))
        assert await socket.receive_bytes() == bytes(MIB)
        await socket.close(code=aiohttp.WSCloseCode.OK)
        assert socket.close_code == 1000


async def test_http_2_is_understood_without_asking_also_where_pods_speak_http_1(two: Pair) -> None:
    async with calling(two, "show-west") as stream:
        client = Http2(*stream)
        for path in ("/one", "/two"):
            status, body = await client.get("own.example", path)
            assert (status, json.loads(body)["path"]) == (200, path)
            assert json.loads(body)["headers"]["Host"] == "own.example"


@asynccontextmanager
async def channel(two: Pair, port: int) -> AsyncIterator[grpc.aio.Channel]:
    """Speak gRPC as a pod; gRPC itself cannot choose the address that it calls from."""

    async def onward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await carry((reader, writer), await two.east.machine.connect("curl", "rpc-west", port))

    async with await asyncio.start_server(onward, "127.0.0.1", 0) as server:
        own = server.sockets[0].getsockname()[1]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{own}") as made:
            yield made


@pytest.mark.parametrize("port", [pytest.param(80, id="grpc"), pytest.param(81, id="h2c")])
async def test_grpc_streams_both_ways_with_all_that_belongs_to_it(two: Pair, port: int) -> None:
    async with channel(two, port) as made:
        run = made.stream_stream("/test.Doubling/Run")
        stream = run(metadata=(("x-forwarded-client-cert", "URI=spiffe://west.isthmus/forged"),))
        for word in (b"a", b"b" * MIB):
            await stream.write(word)
            assert [await stream.read(), await stream.read()] == [word, word]
        await stream.done_writing()
        assert await stream.code() is grpc.StatusCode.OK
        assert ("x-caller", IDENTITY) in list(await stream.trailing_metadata())
        stream = run()
        await stream.write(b"nothing")
        assert await stream.code() is grpc.StatusCode.NOT_FOUND
        assert await stream.details() == "there is no such word"


async def test_a_grpc_server_may_have_the_last_word(two: Pair) -> None:
    """It ends the call while the client could still speak."""
    async with channel(two, 80) as made:
        stream = made.stream_stream("/test.Doubling/Run")()
        for word in (b"some", b"more", b"enough"):
            await stream.write(word)
        assert [one async for one in stream] == [b"some", b"some", b"more", b"more"]
        assert await stream.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("declared", DECLARED)
async def test_what_a_port_carries_is_what_it_was_declared_as(two: Pair, declared: str) -> None:
    """Only where it is requests, the caller's name is added to them."""
    port = 80 + list(DECLARED).index(declared)
    async with calling(two, "show-west", port) as stream:
        _, seen = await answer(stream, b"GET / HTTP/1.1\r\nhost: own.example\r\n\r\n")
    _, are_requests = DECLARED[declared]
    assert ("x-forwarded-client-cert" in seen["headers"]) == are_requests
