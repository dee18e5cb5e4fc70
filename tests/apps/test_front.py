"""The HTTPS server: real TLS on loopback, whose certificate and trust change while it runs."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from aiohttp import web

from isthmus.apps import credentials
from isthmus.apps.controller.certifying import front as fronts
from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.front import Front, Place, PortTaken
from isthmus.apps.credentials import Credentials
from isthmus.kube.tls import as_file
from isthmus.model.identities import Identity
from isthmus.pki import bundle
from isthmus.pki.issue import issue
from isthmus.pki.keys import Pair, chain_pem, new_key, read_certificates
from isthmus.pki.verify import verify
from isthmus.runtime.clock import SystemClock
from tests.apps.clusters import place
from tests.apps.signers import CSR, Office, populate, token
from tests.apps.trusting import anchor, given, issuer, issuer_secret, put, trust_map
from tests.support.pki import resigned
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

NOW = datetime.now(UTC)
ABOVE, OTHER = anchor(NOW), anchor(NOW)
EAST = issuer(ABOVE, now=NOW)
CONTROLLER = Identity("east", "isthmus", "isthmus", "isthmus-controller")
GATEWAY = CONTROLLER._replace(account="isthmus-gateway")


def shown(above: Pair = EAST, who: Identity = GATEWAY) -> Credentials:
    key = new_key()
    return Credentials(issue(above, who, key.public_key(), NOW), above.certificate, key)


def client(*anchors: Pair, own: Credentials | None = None) -> ssl.SSLContext:
    trusted = bundle.of(each.certificate for each in anchors or (ABOVE,))
    return credentials.pin(credentials.client_context(trusted, own), CONTROLLER)


@dataclass
class Served:
    front: Front
    authority: Authority

    async def connect(
        self, context: ssl.SSLContext | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.front.port, ssl=context)

    async def say(self, context: ssl.SSLContext, text: bytes) -> bytes:
        """Send ``text`` and return everything that comes back until the end."""
        reader, writer = await self.connect(context)
        try:
            writer.write(text)
            return await reader.read()
        finally:
            writer.transport.abort()

    async def hangs_up(self, context: ssl.SSLContext) -> bool:
        """Tell whether a client gets no answer; with TLS 1.3 it learns that after its request."""
        try:
            return await self.get(context) == ""
        except OSError:
            return True

    async def get(self, context: ssl.SSLContext, path: str = "/who") -> str:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = await self.say(context, head.encode())
        return answer.partition(b"\r\n\r\n")[2].decode()


@asynccontextmanager
async def serving(*routes: web.RouteDef, port: int = 0) -> AsyncIterator[Served]:
    authority = given(ABOVE, EAST, SystemClock())
    front = Front(authority, Place("127.0.0.1", port))

    async def who(request: web.Request) -> web.Response:
        return web.Response(text=front.peer(request) or "nobody")

    app = web.Application()
    app.add_routes([web.get("/who", who), *routes])
    task = asyncio.create_task(front.run(app))
    before = len(asyncio.all_tasks())
    try:
        await asyncio.wait({asyncio.create_task(front.listening.wait())})
        yield Served(front, authority)
    finally:
        task.cancel()
        await asyncio.wait({task})
        await eventually(lambda: len(asyncio.all_tasks()) < before)
    assert not front._open


async def test_a_pod_gets_its_certificate_over_https() -> None:
    east = place("east")
    east.cluster.access._wall = east.cluster.access.tokens._wall = lambda: datetime.now(UTC)
    await populate(east, "curl")
    office = Office.of(east, given(ABOVE, EAST, SystemClock()), SystemClock())
    async with serving(office.signing.route) as served:
        head = (
            "POST /v1/sign HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            f"Authorization: Bearer {token(east, 'curl')}\r\nContent-Length: {len(CSR)}\r\n\r\n"
        )
        answer = await served.say(client(), head.encode() + CSR)
        headers, _, body = answer.partition(b"\r\n\r\n")
        assert headers.startswith(b"HTTP/1.1 200 ")
        assert b"Server: isthmus\r\n" in headers + b"\r\n"
        assert b"aiohttp" not in headers
        chain = read_certificates(json.loads(body)["chain"], "the chain")
        found = verify(chain, bundle.parse(json.loads(body)["anchors"]), datetime.now(UTC))
        assert str(found) == "spiffe://east.isthmus/ns/default/sa/curl"
        refused = await served.say(client(), head.replace("Bearer", "Basic").encode() + CSR)
        assert refused.startswith(b"HTTP/1.1 401 ")
        assert b"WWW-Authenticate: Bearer\r\n" in refused
        large = head.replace(f"{len(CSR)}", "16385").encode()
        assert (await served.say(client(), large)).startswith(b"HTTP/1.1 413 ")


async def test_a_caller_is_who_its_certificate_says_and_without_one_nobody() -> None:
    async with serving() as served:
        assert await served.get(client()) == "nobody"
        assert await served.get(client(own=shown())) == str(GATEWAY)
        stranger = shown(issuer(OTHER, now=NOW))
        assert await served.hangs_up(client(own=stranger))


async def test_a_caller_whose_certificate_nobody_can_read_is_nobody() -> None:
    """OpenSSL lets it pass: whoever has the issuer of a cluster can make one."""
    own = shown()
    odd = resigned(own.leaf, EAST).encode() + chain_pem(EAST.certificate)
    context = client()
    with as_file(odd + own.key_pem) as path:
        context.load_cert_chain(path)
    async with serving() as served:
        assert await served.get(context) == "nobody"


async def test_anchors_and_certificate_are_replaced_without_a_restart() -> None:
    async with serving() as served:
        reader, writer = await served.connect(client(own=shown()))  # from before, and goes on
        assert await served.get(client()) == "nobody"
        newer = issuer(OTHER, now=NOW)
        put(served.authority, trust_map(ABOVE, OTHER), issuer_secret(newer))
        # Each anchor is enough for a client, whichever the server's own certificate is below.
        assert await served.get(client(ABOVE, OTHER, own=shown())) == str(GATEWAY)
        assert await served.get(client(OTHER, own=shown(newer))) == str(GATEWAY)
        with pytest.raises(ssl.SSLCertVerificationError):
            await served.get(client(ABOVE))
        put(served.authority, trust_map(OTHER))
        assert await served.get(client(OTHER, own=shown(newer))) == str(GATEWAY)
        assert await served.hangs_up(client(OTHER, own=shown()))
        writer.write(b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).endswith(str(GATEWAY).encode())
        writer.transport.abort()


async def test_no_session_is_resumed_past_what_is_trusted_now() -> None:
    async with serving() as served:
        context = client(own=shown())
        reader, writer = await served.connect(context)
        writer.write(b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await reader.read()
        connection = writer.get_extra_info("ssl_object")
        assert connection.session is None or not connection.session.has_ticket
        writer.transport.abort()


async def test_a_client_that_expects_somebody_else_sends_nothing() -> None:
    heard: list[str] = []

    async def note(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response()

    async with serving(web.get("/secret", note)) as served:
        trusted = credentials.client_context(bundle.of([ABOVE.certificate]))
        other = credentials.pin(trusted, GATEWAY)
        with pytest.raises(ssl.SSLCertVerificationError, match=f"{GATEWAY}, but {CONTROLLER}"):
            await served.get(other, "/secret")
        assert heard == []


async def test_older_tls_and_plain_http_get_no_answer() -> None:
    async with serving() as served:
        old = client()
        old.minimum_version = ssl.TLSVersion.TLSv1_2
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await served.hangs_up(old)
        reader, writer = await served.connect(None)
        writer.write(b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP" not in await reader.read()
        writer.transport.abort()


async def test_whoever_is_slow_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "IDLE", 0.2)
    monkeypatch.setattr(fronts, "HANDSHAKE", 0.2)
    async with serving() as served:
        async with asyncio.timeout(5):
            reader, writer = await served.connect(client())
            ends = asyncio.create_task(reader.read())
            for letter in "GET /who HTTP/1.1\r\nX-Slow: " + "a" * 500:
                writer.write(letter.encode())
                await asyncio.wait({ends}, timeout=0.02)
                if ends.done():
                    break
            assert await ends == b""
            writer.transport.abort()
            silent, mute = await served.connect(None)
            assert await silent.read() == b""
            mute.transport.abort()


async def test_nobody_takes_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "MOST_OF_ONE", 2)
    async with serving() as served:
        held = [await served.connect(client()) for _ in range(2)]
        await eventually(lambda: served.front._open.total() == 2)
        assert await served.hangs_up(client())
        assert served.front.refused == 1
        for _, writer in held:
            writer.transport.abort()
        await eventually(lambda: served.front._open.total() == 0)
        assert await served.get(client()) == "nobody"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"canary-1 \x00\xff\r\n\r\n", id="not HTTP"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization\x01: canary-1\r\n\r\n", id="bad header"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
            + b"canary-1" * 2000
            + b"\r\n\r\n",
            id="a token that is too long",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: canary-1\r\n" * 100 + b"\r\n", id="many headers"
        ),
        pytest.param(b"GET /canary-1" + b"x" * 3000 + b" HTTP/1.1\r\n\r\n", id="a long path"),
        pytest.param(
            b"POST /who HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"
            b"\r\ncanary-1",
            id="two lengths",
        ),
    ],
)
async def test_nonsense_is_refused_and_repeated_nowhere(
    text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as served:
        answer = await served.say(client(), text)
        assert b" 400 Bad Request\r\n" in answer
        assert b"Server: isthmus\r\n" in answer
        assert b"canary" not in answer
        assert await served.get(client()) == "nobody"
    assert "canary" not in caplog.text
    assert not any("canary" in str(one.__dict__) for one in caplog.records)


async def test_a_taken_port_is_named() -> None:
    async with serving() as served:
        front = Front(served.authority, Place("127.0.0.1", served.front.port))
        with pytest.raises(
            PortTaken, match="address already in use; choose another by --sign-port"
        ):
            await front.run(web.Application())
