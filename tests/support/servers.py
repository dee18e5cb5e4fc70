"""Servers that treat a connection as they like, and a client that asks them for a Service."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from isthmus.embedded.fronts.certificates import Authority, Pair
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.credentials import StaticToken
from isthmus.kube.exchange import Limits
from isthmus.kube.http import HttpTransport
from isthmus.kube.resources import SERVICES
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from tests.support.waiting import eventually

TOKEN = "canary-3141"
WEB = Key("shop", "web")
NOW = datetime.now(UTC)
OURS = Authority("ours", NOW)
THEIRS = Authority("theirs", NOW)
GOOD = OURS.issue(["127.0.0.1"], NOW)
JSON = "200 OK\r\nContent-Type: application/json"
SERVICE = b'{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"}}'


@dataclass
class Talk:
    """One connection of a server, and what was heard on all of them."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[bytes]

    async def say(self, text: bytes) -> None:
        self.writer.write(text)
        await self.writer.drain()

    async def answer(self, head: str, body: bytes = b"") -> None:
        """Hear a request out and answer it."""
        self.heard.append(await self.reader.readuntil(b"\r\n\r\n"))
        await self.say(f"HTTP/1.1 {head}\r\n\r\n".encode() + body)


Behaviour = Callable[[Talk], Awaitable[None]]


@dataclass
class Server:
    """Treats every connection as ``behave`` likes, and stays on it to the end."""

    behave: Behaviour
    url: str = ""
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self.behave(Talk(reader, writer, self.heard))
                await reader.read()
        finally:
            writer.transport.abort()
            self._open.discard(writer)

    def close(self) -> None:
        for writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def serving(behave: Behaviour, tls: ssl.SSLContext | None) -> AsyncIterator[Server]:
    server = Server(behave)
    before = len(asyncio.all_tasks())
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listener.close()
        server.close()
        await eventually(lambda: len(asyncio.all_tasks()) == before)


def context(pair: Pair, clients: Authority | None = None) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        made.load_cert_chain(file.name)
    if clients is not None:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(cadata=clients.pem)
    return made


def at(url: str, ca: Authority = OURS) -> ApiServer:
    return ApiServer(url=url, ca_pem=ca.pem.encode())


async def got(to: ApiServer, **limits: float) -> str:
    """Ask for a Service and return its name; errors pass."""
    shorter = Limits(**({"first_byte": 1.0, "total": 2.0} | limits))  # type: ignore[arg-type]  # ints and floats alike
    client = Client(HttpTransport(to, connect=1.0), StaticToken(TOKEN), shorter)
    try:
        return (await client.get(SERVICES, WEB)).metadata.name
    finally:
        await client.close()


async def failed(to: ApiServer, **limits: float) -> IsthmusError:
    with pytest.raises(IsthmusError) as caught:
        await got(to, **limits)
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


async def is_well(talk: Talk) -> None:
    while True:
        await talk.answer(f"{JSON}\r\nContent-Length: {len(SERVICE)}", SERVICE)
