"""Two real Envoys, a gateway of west and an egress of east, with servers behind and callers before.

Everything stands on loopback addresses of its own; a caller is known by the one it calls from.
"""

import asyncio
import os
import re
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from envoy.service.discovery.v3 import discovery_pb2

from isthmus.model.routes import (
    Callers,
    EgressRoutes,
    GatewayRoutes,
    Inbound,
    Outbound,
    Peer,
    Place,
    Protocol,
)
from isthmus.pki.keys import chain_pem
from isthmus.xds import secrets, tunnels
from isthmus.xds.egress import accounts, egress
from isthmus.xds.gateway import gateway
from isthmus.xds.names import Site
from isthmus.xds.resources import Resources, together
from tests.support import pki
from tests.support.envoy_files import Proxy, running
from tests.support.servers import Behaviour, Server, Talk
from tests.support.sockets import SocketLoop
from tests.support.waiting import eventually
from tests.xds.routes import anchors, flat

# Runs of the same suite at the same time keep out of each other's way, and of other tests, the
# demo and the bench, which have 127.1 to 127.252.
NET = f"127.253.{os.getpid() % 250 + 1}"
GATEWAY, EGRESS, PODS, NOBODY_HERE = (f"{NET}.{last}" for last in (1, 2, 3, 4))
CURL, OTHER, STRANGER = (f"{NET}.{last}" for last in (11, 12, 13))

GATEWAY_ID = pki.identity("west", "gateway", "isthmus")
CONTROLLER_ID = pki.identity("west", "controller", "isthmus")
CURL_ID = pki.identity("east", "curl")

CALLERS = {CURL: "default/curl", OTHER: "default/other"}
HALF_DEAD = 7006  # a service with a pod that answers, and one that does not


def authority(service: str) -> str:
    return f"{service}.default.svc.west.cluster.local:80"


# By service: how it is carried, and the port of its pods.
SERVICES: Mapping[str, tuple[Protocol, int]] = {
    "echo": ("tcp", 7001),
    "web": ("http", 7002),
    "rpc": ("http2", 7003),
    "flood": ("tcp", 7004),
    "half": ("tcp", HALF_DEAD),
    "open": ("http", 7002),  # to all accounts of a namespace
    "open-echo": ("tcp", 7001),
    "private": ("tcp", 7001),
    "private-web": ("http", 7002),
}
# What the egress has listeners for: all these, and some that do not fit what west exports.
LISTENERS: Mapping[str, tuple[int, str, Protocol]] = {
    **{
        name: (20_001 + number, authority(name), protocol)
        for number, (name, (protocol, _)) in enumerate(SERVICES.items())
    },
    "missing": (20_101, authority("missing"), "tcp"),
    "missing-web": (20_102, authority("missing"), "http"),
    "echo as requests": (20_103, authority("echo"), "http"),
    "web as bytes": (20_104, authority("web"), "tcp"),
}


GRANTED = {
    "open": Callers(prefixes=("spiffe://east.isthmus/ns/default/",)),
    "open-echo": Callers(prefixes=("spiffe://east.isthmus/ns/default/",)),
    "private": Callers(),
    "private-web": Callers(),
}


def inbound(service: str) -> Inbound:
    protocol, port = SERVICES[service]
    granted = GRANTED.get(service, Callers(exact=(str(CURL_ID),)))
    places = [Place(address=PODS, port=port)]
    if port == HALF_DEAD:
        places.append(Place(address=NOBODY_HERE, port=port))
    return Inbound(
        authority=authority(service),
        namespace="default",
        service=service,
        protocol=protocol,
        places=tuple(places),
        callers=granted,
    )


WEST = GatewayRoutes(
    inbound=tuple(inbound(service) for service in SERVICES),
    catalogue=(Place(address=PODS, port=7443),),
    catalogue_callers=Callers(exact=(str(CURL_ID),)),
    controller=str(CONTROLLER_ID),
)
EAST = EgressRoutes(
    outbound=tuple(
        Outbound(
            listener=listener,
            link="west",
            authority=target,
            namespace="default",
            service=name.replace(" ", "-"),
            protocol=protocol,
        )
        for name, (listener, target, protocol) in LISTENERS.items()
    ),
    peers=(
        Peer(
            link="west",
            places=(Place(address=GATEWAY, port=4143),),
            identity=str(GATEWAY_ID),
        ),
    ),
    callers=CALLERS,
)


@dataclass(frozen=True)
class Crossing:
    """The two of them, running."""

    west: Proxy
    east: Proxy
    own: Path

    def tell_west(self, routes: GatewayRoutes) -> None:
        self.west.files.write(_gateway(routes, self.own))

    def tell_east(self, routes: EgressRoutes) -> None:
        self.east.files.write(_egress(routes))


@contextmanager
def crossing(directory: Path) -> Iterator[Crossing]:
    """Start both, for tests that run one after the other, each on an event loop of its own."""
    own = directory / "own.pb"
    shown = pki.credentials(GATEWAY_ID)
    answer = discovery_pb2.DiscoveryResponse(
        resources=[secrets.own(shown.chain_pem, shown.key_pem).packed]
    )
    own.write_bytes(answer.SerializeToString())
    with asyncio.Runner(loop_factory=SocketLoop) as runner:
        stack = AsyncExitStack()
        west = running(directory / "west", _gateway(WEST, own))
        east = running(directory / "east", _egress(EAST))
        try:
            yield Crossing(
                runner.run(stack.enter_async_context(west)),
                runner.run(stack.enter_async_context(east)),
                own,
            )
        finally:
            runner.run(stack.aclose())


def _gateway(routes: GatewayRoutes, own: Path) -> Resources:
    site = Site(address=GATEWAY, own=str(own))
    return together([*flat(gateway(routes, site)), anchors()])


def _egress(routes: EgressRoutes) -> Resources:
    shown = {
        one: pki.credentials(pki.identity("east", one.split("/")[1])) for one in accounts(routes)
    }
    certificates = (secrets.account(one, has.chain_pem, has.key_pem) for one, has in shown.items())
    return together([*flat(egress(routes, EGRESS)), anchors(), *certificates])


@dataclass
class Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, text: str) -> None:
        self.writer.write(text.encode())
        await self.writer.drain()

    async def hear(self) -> str:
        """Hear a line; a connection that is cut has ended, and an end is no line."""
        try:
            return (await self.reader.readline()).decode()
        except OSError:
            return ""

    async def rest(self) -> str:
        """Hear everything to the end."""
        heard = b""
        with suppress(OSError):
            while more := await self.reader.read(65536):
                heard += more
        return heard.decode()

    async def ask(self, request: str) -> str:
        """Say a request, in lines, and hear the answer; nothing, if there is none."""
        try:
            await self.say("\r\n".join([*request.splitlines(), "", ""]))
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            body = await self.reader.readexactly(int(length[1]) if length else 0)
        except (OSError, asyncio.IncompleteReadError):
            return ""
        return (head + body).decode()


@asynccontextmanager
async def call(service: str, caller: str = CURL) -> AsyncIterator[Line]:
    """Call a mirror from a pod."""
    listener, _, _ = LISTENERS[service]
    async with _line(EGRESS, listener, local_addr=(caller, 0)) as line:
        yield line


async def heard(service: str, caller: str = CURL) -> str:
    """Return all that a mirror says unasked; a refusal may come before the connection stands."""
    try:
        async with call(service, caller) as line:
            return await line.rest()
    except ConnectionResetError:
        return ""


@asynccontextmanager
async def knock(shown: pki.Credentials | None, **options: object) -> AsyncIterator[Line]:
    """Come to the gateway without an egress, with TLS and whatever certificate."""
    made = context(shown, "http/1.1")
    for name, value in options.items():
        setattr(made, name, value)
    async with _line(GATEWAY, 4143, ssl=made) as line:
        yield line


@asynccontextmanager
async def tunnel(shown: pki.Credentials | None, asked: str) -> AsyncIterator[Line]:
    """Ask the gateway for a tunnel without an egress, with whatever certificate and name."""
    made = context(shown, tunnels.PROTOCOL)
    async with _line(GATEWAY, 4143, ssl=made, server_hostname=asked) as line:
        yield line


def context(shown: pki.Credentials | None, protocol: str) -> ssl.SSLContext:
    """Return what it takes to speak TLS with the gateway, under whatever certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.load_verify_locations(cadata=chain_pem(pki.anchor().certificate).decode())
    made.set_alpn_protocols([protocol])
    if shown:
        load(made, shown)
    return made


def load(context: ssl.SSLContext, shown: pki.Credentials) -> None:
    """Use a certificate; OpenSSL takes it from a file only."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(shown.chain_pem + shown.key_pem)
        file.flush()
        context.load_cert_chain(file.name)


@asynccontextmanager
async def _line(host: str, port: int, **options: object) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection(host, port, **options)  # type: ignore[arg-type]  # passed on
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()  # a farewell would wait for the other side's
        with suppress(OSError):
            await writer.wait_closed()


async def echo(talk: Talk) -> None:
    """Speak first, repeat what is said, and have the last word."""
    await talk.say(b"welcome\n")
    while heard := await talk.reader.read(65536):
        await talk.say(heard)
    await talk.say(b"goodbye\n")
    talk.writer.write_eof()


async def show(talk: Talk) -> None:
    """Answer with the request as it came, or follow it into a WebSocket."""
    while True:
        head = await talk.reader.readuntil(b"\r\n\r\n")
        if b"upgrade: websocket" in head:
            await talk.say(
                b"HTTP/1.1 101 Switching Protocols\r\n"
                b"upgrade: websocket\r\nconnection: upgrade\r\n\r\n"
            )
            return await echo(talk)
        length = f"content-length: {len(head)}".encode()
        await talk.say(b"HTTP/1.1 200 OK\r\nserver: app\r\n" + length + b"\r\n\r\n" + head)


async def flood(talk: Talk) -> None:
    while True:
        await talk.say(b"x" * 65536)


@asynccontextmanager
async def pod(
    behave: Behaviour, port: int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Run a server behind the gateway."""
    server = Server(behave)
    before = len(asyncio.all_tasks())
    listener = await asyncio.start_server(server.serve, PODS, port, ssl=tls)
    try:
        yield server
    finally:
        listener.close()
        server.close()
        await eventually(lambda: len(asyncio.all_tasks()) == before)
