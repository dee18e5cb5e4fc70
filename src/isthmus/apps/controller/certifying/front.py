"""The controller's HTTPS server, as if everybody who can reach its port meant harm.

A client's certificate is verified if there is one; who needs it says so. Every connection has a
deadline in each of its phases, and each source a share of the connections.
"""

import asyncio
import logging
import ssl
from collections import Counter
from dataclasses import dataclass, field

from aiohttp import web

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.sources import source
from isthmus.model.errors import Permanent

log = logging.getLogger(__name__)

HANDSHAKE = 5.0  # seconds for TLS to begin
FAREWELL = 2.0  # seconds for it to end
IDLE = 10.0  # seconds for a request's headers to be complete, from the moment one is awaited
MOST = 1024  # connections
MOST_OF_ONE = 256  # of one address: a gateway carries the catalogue for many clusters
LONGEST_LINE = 2048
LONGEST_FIELD = 8190
MOST_FIELDS = 64
BACKLOG = 128


class PortTaken(Permanent):
    """The port cannot be had. Says which one, and how to choose another."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens."""

    host: str | None
    port: int


@dataclass(slots=True)
class Front:
    """Serves one application, once there is a certificate to do it with."""

    authority: Authority
    place: Place
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0  # as it turned out
    refused: int = 0  # connections, for there were too many
    _open: Counter[str] = field(default_factory=Counter)

    async def run(self, app: web.Application) -> None:
        """Serve until cancelled."""
        await self.authority.ready.wait()
        app.on_response_prepare.append(_without_banner)
        runner = web.AppRunner(app, shutdown_timeout=FAREWELL)
        await runner.setup()
        try:
            await self._listen(runner)
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        loop = asyncio.get_running_loop()
        manager = runner.server
        assert manager is not None  # it was set up
        host, port = self.place.host, self.place.port
        try:
            server = await loop.create_server(
                lambda: Connection(manager, self, loop),
                host,
                port,
                ssl=self.authority.server_context(),
                ssl_handshake_timeout=HANDSHAKE,
                ssl_shutdown_timeout=FAREWELL,
                backlog=BACKLOG,
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise PortTaken(f"port {port}: {reason}; choose another by --sign-port") from error
        self.port = server.sockets[0].getsockname()[1]
        self.listening.set()
        log.info("HTTPS server listens", extra={"port": self.port})
        try:
            await asyncio.Event().wait()
        finally:
            server.close()

    def peer(self, request: web.Request) -> str | None:
        """Return whom the TLS connection of a request proves; None if nobody."""
        connection = request.get_extra_info("ssl_object")
        found = self.authority.peer(connection) if isinstance(connection, ssl.SSLObject) else None
        return None if found is None else str(found)

    def admit(self, origin: str) -> bool:
        """Count a connection in, unless there are too many."""
        if self._open.total() >= MOST or self._open[origin] >= MOST_OF_ONE:
            self.refused += 1
            return False
        self._open[origin] += 1
        return True

    def leave(self, origin: str) -> None:
        self._open[origin] -= 1
        if not self._open[origin]:
            del self._open[origin]


class Connection(web.RequestHandler):
    """One connection. aiohttp does the work; it is bounded, and tells nothing to strangers."""

    __slots__ = ("_front", "_source")

    def __init__(self, manager: web.Server, front: Front, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            manager,
            loop=loop,
            keepalive_timeout=IDLE,
            access_log=None,  # type: ignore[arg-type]  # as aiohttp itself passes it
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_FIELD,
            max_headers=MOST_FIELDS,
            lingering_time=FAREWELL,
            auto_decompress=False,
        )
        self._front = front
        self._source: str | None = None  # as long as it is not counted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        origin = source((transport.get_extra_info("peername") or (None,))[0])
        if not self._front.admit(origin):
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
            return
        self._source = origin
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._source is None:
            return
        self._front.leave(self._source)
        self._source = None
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  # it quotes what was sent
    ) -> web.StreamResponse:
        """Answer what cannot be answered otherwise, quoting nothing: it may be a token."""
        if status >= 500 and exc is not None:
            log.error("a request failed", extra={"path": request.path}, exc_info=exc)
        else:
            log.debug("not HTTP", extra={"source": request.remote, "status": status})
        answer = web.Response(status=status, text="bad request\n" if status < 500 else "failed\n")
        answer.headers["Server"] = BANNER
        answer.force_close()
        return answer


BANNER = "isthmus"  # nothing about what it is made of


async def _without_banner(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = BANNER
