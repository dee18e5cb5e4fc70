"""A controller's HTTPS server and a gateway before it, both with real TLS on loopback addresses."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

from aiohttp import web

from isthmus.catalogue.callers import Site
from isthmus.catalogue.following import Door
from isthmus.catalogue.offers import Offers
from isthmus.catalogue.serving import mount
from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.pki.keys import chain_pem
from tests.support.pki import Credentials, anchor, credentials
from tests.support.waiting import eventually

WEST = Site(cluster="west", mesh_domain=MESH_DOMAIN, namespace="isthmus")
EAST = Site(cluster="east", mesh_domain=MESH_DOMAIN, namespace="isthmus")


def of(cluster: str, account: str, namespace: str = "isthmus") -> Credentials:
    return credentials(Identity(cluster, MESH_DOMAIN, namespace, account))


def context(own: Credentials, *, server: bool = False) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(cadata=chain_pem(anchor().certificate).decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(own.key_pem + own.chain_pem)
        file.flush()
        made.load_cert_chain(file.name)
    return made


def peer(request: web.Request) -> str | None:
    certificate = request.get_extra_info("peercert") or {}
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI"]
    return names[0] if len(names) == 1 else None


@dataclass(slots=True)
class Gateway:
    """Ends mutual TLS, says who has called, and passes everything on to the controller."""

    own: Credentials
    upstream: int
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    slow: bool = False  # passes on nothing of the answer
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def door(self) -> Door:
        return Door(cluster="west", addresses=("127.0.0.1",), port=self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._pass_on(reader, writer)
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        names = writer.get_extra_info("peercert")["subjectAltName"]
        caller = ";".join(f"URI={value}" for kind, value in names if kind == "URI")
        told = f"x-forwarded-client-cert: Hash=abc;{caller}\r\n\r\n".encode()
        there, back = await asyncio.open_connection(
            "127.0.0.1", self.upstream, ssl=context(self.own), limit=1024
        )
        self._open.add(back)
        try:
            back.write(head[:-2] + told)
            if self.slow:
                await reader.read()
            while chunk := await there.read(65536):
                writer.write(chunk)
                await writer.drain()
        finally:
            self._open.discard(back)
            back.transport.abort()

    def close(self) -> None:
        """End all connections."""
        for writer in list(self._open):
            writer.transport.abort()


@asynccontextmanager
async def gateway(offers: Offers, own: Credentials | None = None) -> AsyncIterator[Gateway]:
    """Serve ``offers`` behind a gateway of west's."""
    before = len(asyncio.all_tasks())
    app = web.Application()
    mount(app, offers, WEST, peer, Random(1))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    tls = context(of("west", "isthmus-controller"), server=True)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    assert site._server is not None  # it was started
    upstream = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # it is asyncio's
    made = Gateway(own or of("west", "isthmus-gateway"), upstream)
    listener = await asyncio.start_server(
        made.serve, "127.0.0.1", 0, ssl=context(made.own, server=True)
    )
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listener.close()
        made.close()
        await runner.cleanup()
        await eventually(lambda: len(asyncio.all_tasks()) == before)
