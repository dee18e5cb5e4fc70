"""HTTPS against servers that do everything wrong: each becomes one clear error, in time."""

import asyncio
import errno
import gzip

import aiohttp
import pytest

from isthmus.kube import requests
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.errors import BadConfig, Garbled, Rejected, Unreachable
from isthmus.kube.exchange import Limits
from isthmus.kube.http import HttpTransport, translated
from isthmus.kube.requests import EVERYTHING
from isthmus.kube.resources import SERVICES
from isthmus.kube.watch import WatchDecoder
from isthmus.model.errors import IsthmusError
from tests.support.scripted import line, named
from tests.support.servers import (
    GOOD,
    JSON,
    SERVICE,
    WEB,
    Behaviour,
    Talk,
    at,
    context,
    failed,
    got,
    is_well,
    serving,
)

pytestmark = pytest.mark.sockets


async def nothing(_talk: Talk) -> None:
    """Say nothing and stay."""


async def hangs_up(talk: Talk) -> None:
    talk.writer.transport.abort()


async def drips(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nContent-Length: 1000")
    while True:
        await talk.say(b" ")
        await asyncio.sleep(0.1)


async def speaks_html(talk: Talk) -> None:
    await talk.answer("200 OK\r\nContent-Type: text/html\r\nContent-Length: 15", b"<h1>Sign in</h1")


async def redirects(talk: Talk) -> None:
    await talk.answer("302 Found\r\nLocation: https://evil.example/x\r\nContent-Length: 0")


async def breaks_off(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nContent-Length: 1000", SERVICE[:30])
    talk.writer.close()


async def breaks_off_a_chunk(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nTransfer-Encoding: chunked", b"3e8\r\n" + SERVICE[:30])
    talk.writer.close()


async def is_no_http(talk: Talk) -> None:
    await talk.say(b"220 mail.example ESMTP\r\n")


async def is_broken_gzip(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nContent-Encoding: gzip\r\nContent-Length: 9", b"nonsense!")


async def is_a_gzip_bomb(talk: Talk) -> None:
    bomb = gzip.compress(b" " * 40_000_000, 9)
    await talk.answer(f"{JSON}\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}", bomb)


async def has_endless_headers(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nX-Long: {'x' * 100_000}\r\nContent-Length: 0")


async def floods(talk: Talk) -> None:
    await talk.answer(JSON)
    while True:
        await talk.say(b" " * 65536)


@pytest.mark.parametrize(
    "behave, expected, text",
    [
        pytest.param(nothing, Unreachable, "no answer within 1 s", id="no answer"),
        pytest.param(hangs_up, Unreachable, "", id="hangs up"),
        pytest.param(drips, Unreachable, "not answered within 2 s", id="a byte at a time"),
        pytest.param(speaks_html, Garbled, "text/html beginning with '<h1>Sign in</h1'", id="HTML"),
        pytest.param(redirects, Rejected, "redirects to evil.example; not followed", id="redirect"),
        pytest.param(breaks_off, Unreachable, "the answer broke off", id="cut"),
        pytest.param(breaks_off_a_chunk, Unreachable, "the answer broke off", id="cut in a chunk"),
        pytest.param(is_no_http, Garbled, "not HTTP as we know it", id="another protocol"),
        pytest.param(is_broken_gzip, Garbled, "cannot be decoded", id="broken gzip"),
        pytest.param(is_a_gzip_bomb, Garbled, "larger than 4194304 bytes", id="a gzip bomb"),
        pytest.param(has_endless_headers, Garbled, "not HTTP as we know it", id="long headers"),
        pytest.param(floods, Garbled, "larger than 4194304 bytes", id="an endless body"),
    ],
)
async def test_a_server_that_misbehaves(
    behave: Behaviour, expected: type[IsthmusError], text: str
) -> None:
    async with serving(behave, context(GOOD)) as server:
        error = await failed(at(server.url))
    assert isinstance(error, expected), repr(error)
    assert text in str(error)
    assert str(error).startswith("get services shop/web: ")


@pytest.mark.parametrize(
    "error, text",
    [
        pytest.param(aiohttp.ClientOSError(), "the connection broke", id="closed while kept"),
        pytest.param(
            aiohttp.ClientConnectionResetError("Cannot write to closing transport"),
            "the connection broke",
            id="closing",
        ),
        pytest.param(
            aiohttp.ClientOSError(errno.ECONNRESET, "Connection reset by peer"),
            "the connection broke: connection reset by peer",
            id="reset",
        ),
    ],
)
def test_a_connection_that_breaks_is_told_in_words(error: Exception, text: str) -> None:
    assert str(translated(error, "https://west")) == f"https://west: {text}"


async def test_a_server_that_behaves() -> None:
    async with serving(is_well, context(GOOD)) as server:
        assert await got(at(server.url)) == "web"
    assert b"authorization: bearer canary-3141" in server.heard[0].lower()


async def test_a_path_in_front_of_the_api_is_kept_and_queries_are_encoded() -> None:
    async with serving(is_well, context(GOOD)) as server:
        transport = HttpTransport(at(f"{server.url}/k8s/clusters/c-1/"))
        call = requests.list_page(SERVICES, requests.Selection(labels="a in (b,c),d=e&f"))
        async with transport.send(call.request):
            pass
        await transport.close()
    start = server.heard[0].partition(b"\r\n")[0]
    path = b"/k8s/clusters/c-1/api/v1/services?labelSelector=a%20in%20%28b%2Cc%29%2Cd%3De%26f"
    assert start == b"GET " + path + b" HTTP/1.1"


async def test_a_redirect_is_not_followed_and_the_token_goes_nowhere() -> None:
    async with serving(is_well, None) as elsewhere:

        async def points_there(talk: Talk) -> None:
            await talk.answer(f"307 Go\r\nLocation: {elsewhere.url}/x\r\nContent-Length: 0")

        async with serving(points_there, context(GOOD)) as server:
            error = await failed(at(server.url))
        assert isinstance(error, Rejected)
        assert elsewhere.connections == 0


async def test_a_server_that_does_not_speak_tls_is_found_out_in_time() -> None:
    async with serving(nothing, None) as server:
        error = await failed(at(server.url.replace("http:", "https:")), first_byte=5)
    assert isinstance(error, Unreachable)
    assert "no connection in time" in str(error)


async def test_a_server_that_speaks_plain_http_is_found_out() -> None:
    async def refuses(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    async with serving(refuses, None) as server:
        error = await failed(at(server.url.replace("http:", "https:")))
    assert isinstance(error, Garbled)
    assert "does not speak TLS" in str(error)


async def test_nobody_there() -> None:
    async with serving(nothing, None) as server:
        url = server.url
    error = await failed(at(url))
    assert isinstance(error, Unreachable)
    assert str(error) == f"get services shop/web: {url}: connection refused"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1", "ftp://x", "https://", "https://[x", "https://x:y"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadConfig):
        HttpTransport(ApiServer(url=url))


async def watched(to: ApiServer, **limits: float) -> list[str]:
    shorter = Limits(**({"first_byte": 1.0, "silence": 0.5} | limits))  # type: ignore[arg-type]  # ints and floats alike
    client = Client(HttpTransport(to, connect=1.0), limits=shorter)
    call = requests.watch(SERVICES, EVERYTHING, "7", 240)
    decoder = WatchDecoder(SERVICES, call, shorter.line_bytes)
    seen: list[str] = []
    try:
        async with client.watch(call) as chunks:
            async for chunk in chunks:
                seen += [type(event).__name__ for event in decoder.receive(chunk)]
        decoder.finish()
    finally:
        await client.close()
    return seen


async def test_a_watch_that_falls_silent_is_given_up() -> None:
    async def tells_one(talk: Talk) -> None:
        await talk.answer(JSON, line("ADDED", named("web", 8)))

    async with serving(tells_one, context(GOOD)) as server:
        with pytest.raises(Unreachable, match=r"watch services: silent for 0\.5 s"):
            await watched(at(server.url))


async def test_a_line_of_a_hundred_megabytes_is_given_up() -> None:
    async def tells_all(talk: Talk) -> None:
        await talk.answer(JSON, b'{"type":"ADDED","object":"')
        for _ in range(1600):
            await talk.say(b"x" * 65536)

    async with serving(tells_all, context(GOOD)) as server:
        with pytest.raises(Garbled, match="longer than 8388608 bytes"):
            await watched(at(server.url))


async def test_a_watch_that_is_cut_within_an_event_has_broken_off() -> None:
    async def stops(talk: Talk) -> None:
        await talk.answer(JSON, line("ADDED", named("web", 8)) + b'{"type":"ADD')
        talk.writer.close()

    async with serving(stops, context(GOOD)) as server:
        with pytest.raises(Unreachable):
            await watched(at(server.url))


async def promises(talk: Talk) -> None:
    await talk.answer(f"{JSON}\r\nContent-Length: 1000", SERVICE)


@pytest.mark.parametrize(
    "behave, connections",
    [
        pytest.param(promises, 3, id="a body that is not read takes its connection with it"),
        pytest.param(is_well, 1, id="one that has come to its end does not"),
    ],
)
async def test_connections_are_kept_where_that_is_safe(behave: Behaviour, connections: int) -> None:
    async with serving(behave, context(GOOD)) as server:
        transport = HttpTransport(at(server.url))
        for _ in range(3):
            async with transport.send(requests.get(SERVICES, WEB).request) as response:
                assert await anext(response.chunks()) == SERVICE
        await transport.close()
    assert server.connections == connections
