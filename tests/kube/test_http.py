"""HTTPS against servers that do everything wrong: each becomes one clear error, in time."""

import asyncio
import errno
import gzip
import socket
import ssl
from dataclasses import replace

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from isthmus.kube import requests
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.errors import (
    BadConfig,
    Garbled,
    Rejected,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from isthmus.kube.exchange import Limits
from isthmus.kube.http import LARGE, HttpTransport, translated
from isthmus.kube.requests import EVERYTHING
from isthmus.kube.resources import SERVICES
from isthmus.kube.watch import WatchDecoder
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Metadata, Service
from tests.support.scripted import line, named
from tests.support.servers import (
    GOOD,
    JSON,
    SERVICE,
    THEIRS,
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

WHERE = ConnectionKey("west", 443, True, True, None, None, None)


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


def tls_error(reason: str) -> ssl.SSLError:
    made = ssl.SSLError(1, "canary-3141")
    made.reason = reason
    return made


@pytest.mark.parametrize(
    "error, expected, text",
    [
        pytest.param(
            aiohttp.ClientConnectorDNSError(WHERE, OSError(-2, "canary-3141")),
            Unreachable, "the name of the server cannot be resolved", id="no such name",
        ),
        pytest.param(
            tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
            Unauthorized, "the server does not accept our client certificate", id="none shown",
        ),
        pytest.param(
            aiohttp.ClientConnectorSSLError(WHERE, tls_error("TLSV1_ALERT_UNKNOWN_CA")),
            Unauthorized, "the server does not accept our client certificate", id="not known",
        ),
        pytest.param(
            tls_error("TLSV1_ALERT_PROTOCOL_VERSION"),
            Unreachable, "TLS failed (tlsv1 alert protocol version)", id="too old",
        ),
        pytest.param(tls_error(""), Unreachable, "TLS failed (closed)", id="closed"),
        pytest.param(
            aiohttp.InvalidURL("canary-3141"), BadConfig, "not a usable address", id="no address"
        ),
        pytest.param(
            aiohttp.ClientConnectionError("canary-3141"),
            Unreachable, "the connection failed (ClientConnectionError)", id="anything else",
        ),
    ],
)  # fmt: skip
def test_every_error_of_the_library_becomes_one_of_ours(
    error: Exception, expected: type[IsthmusError], text: str
) -> None:
    found = translated(error, "https://west")
    assert type(found) is expected
    assert str(found) == f"https://west: {text}"


class Proxy:
    """Leads to whatever it is asked for, or answers by itself."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    async def behave(self, talk: Talk) -> None:
        head = await talk.reader.readuntil(b"\r\n\r\n")
        talk.heard.append(head)
        await talk.say(self._answer)
        if b" 200 " not in self._answer:
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass_on(talk.reader, writer))
            group.create_task(self._pass_on(reader, talk.writer))

    async def _pass_on(self, here: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        while chunk := await here.read(65536):
            there.write(chunk)
        there.close()


def by_proxy(server: ApiServer, proxy: str) -> ApiServer:
    return replace(server, proxy=proxy)


async def test_a_server_is_reached_by_a_proxy_and_not_looked_at_twice_around_it() -> None:
    good = Proxy(b"HTTP/1.1 200 Connection established\r\n\r\n")
    async with serving(is_well, context(GOOD)) as server, serving(good.behave, None) as proxy:
        assert await got(by_proxy(at(server.url), proxy.url)) == "web"
        error = await failed(by_proxy(at(server.url, THEIRS), proxy.url))
        assert proxy.connections == 2
        assert len(server.heard) == 1
    assert isinstance(error, Untrusted)
    assert "it shows" not in str(error)


async def test_a_proxy_that_refuses_or_is_not_there_is_what_the_error_is_about() -> None:
    bad = Proxy(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n")
    async with serving(is_well, context(GOOD)) as server:
        async with serving(bad.behave, None) as proxy:
            error = await failed(by_proxy(at(server.url), proxy.url))
            assert "the proxy refuses (407)" in str(error)
        error = await failed(by_proxy(at(server.url), proxy.url))
        assert "the proxy cannot be reached" in str(error)
        assert server.connections == 0


async def test_a_large_object_is_sent_in_pieces() -> None:
    async def hears_all(talk: Talk) -> None:
        head = await talk.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        talk.heard.append(await talk.reader.readexactly(length))
        body = b'{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"}}'
        await talk.say(f"HTTP/1.1 {JSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    large = Service(metadata=Metadata(name="web", namespace="shop", annotations={"a": "x" * LARGE}))
    async with serving(hears_all, context(GOOD)) as server:
        client = Client(HttpTransport(at(server.url)))
        assert (await client.create(SERVICES, large)).metadata.name == "web"
        await client.close()
        await client.close()  # as often as one likes
    assert server.heard[0].count(b"x") >= LARGE


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


async def test_a_system_without_some_options_of_sockets_is_no_hindrance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for option in ("TCP_KEEPIDLE", "TCP_USER_TIMEOUT"):
        monkeypatch.delattr(socket, option, raising=False)
    async with serving(is_well, context(GOOD)) as server:
        assert await got(at(server.url)) == "web"


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
