"""HTTPS to one API server. Foreign errors and redirects end here.

Every cluster has a session of its own, so that trouble with one cannot close the connections
of another.
"""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from io import BytesIO
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from isthmus.kube import tls
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.errors import BadConfig, Garbled, Unauthorized, Unreachable, Untrusted
from isthmus.kube.resolving import JudgingResolver
from isthmus.kube.transport import Request
from isthmus.model.errors import IsthmusError

CONNECT = 10.0  # seconds for name, TCP and TLS
LARGE = 1024 * 1024  # bytes of a body
UNACKNOWLEDGED = 30_000  # milliseconds after which bytes that nobody confirms end a connection

# What aiohttp may raise. HttpProcessingError stands for HTTP that cannot be parsed.
FOREIGN = (aiohttp.ClientError, HttpProcessingError, OSError, TimeoutError)


class HttpTransport:
    """Carries requests over HTTP/1.1; implements :class:`isthmus.kube.transport.Transport`."""

    def __init__(
        self,
        server: ApiServer,
        *,
        connect: float = CONNECT,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._server = server
        self._connect = connect
        self._resolver = resolver
        self._base = server.url.rstrip("/")
        try:
            parts = urlsplit(self._base)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise BadConfig(f"{server.url!r} is not a server's address") from None
        if parts.scheme not in ("http", "https") or not self._host:
            raise BadConfig(f"{server.url!r} is not a server's address")
        self._tls = tls.context(server) if parts.scheme == "https" else None
        self._session: aiohttp.ClientSession | None = None

    def send(self, request: Request) -> "_Sending":
        return _Sending(self, request)

    async def ask(self, request: Request) -> "HttpResponse":
        """Send ``request`` and return its answer, which whoever asks has to close."""
        session = self._session or self._start()
        try:
            response = await session.request(
                request.method,
                _url(self._base, request.path, request.query),
                headers=request.headers,
                data=_payload(request.body),
                allow_redirects=False,
                server_hostname=self._server.tls_server_name,
                proxy=self._server.proxy,
            )
        except FOREIGN as error:
            failed = await self._translated(error)
            # aiohttp's errors carry the request and with it the token: they stay here.
            raise failed from None
        return HttpResponse(response, self._base)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _start(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=self._tls if self._tls is not None else True,
                limit=0,  # the client bounds its requests, and watches must never wait
                resolver=self._names(),
                socket_factory=_socket,
            ),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._connect),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        return self._session

    def _names(self) -> AbstractResolver:
        """Return what resolves names here: as other programs on this machine do, but judged."""
        found = self._resolver or aiohttp.ThreadedResolver()
        refusal = self._server.refusal
        return found if refusal is None else JudgingResolver(found, refusal)

    async def _translated(self, error: Exception) -> IsthmusError:
        match error:
            case aiohttp.ClientConnectorCertificateError(
                certificate_error=ssl.SSLCertVerificationError() as why
            ):
                return await self._distrusted(why)
        return translated(error, self._base)

    async def _distrusted(self, error: ssl.SSLCertVerificationError) -> IsthmusError:
        name = self._server.tls_server_name or self._host
        return Untrusted(tls.distrust(error, await self._shown(name), self._server, name))

    async def _shown(self, name: str) -> tls.Presented | None:
        """Look again at the certificate; the name may lead elsewhere by now, so it is judged."""
        if self._server.proxy is not None:
            return None
        port = self._port or 443
        try:
            found = await self._names().resolve(self._host, port, socket.AF_UNSPEC)
        except (OSError, BadConfig):
            return None
        return await tls.presented([each["host"] for each in found], port, name)


class _Sending:
    """A request that is sent on entering; leaving gives the connection back, or ends it."""

    def __init__(self, transport: HttpTransport, request: Request) -> None:
        self._transport = transport
        self._request = request

    async def __aenter__(self) -> "HttpResponse":
        self._response = await self._transport.ask(self._request)
        return self._response

    async def __aexit__(self, *_: object) -> None:
        self._response.close()


class HttpResponse:
    """An answer whose body is still on its way."""

    def __init__(self, response: aiohttp.ClientResponse, base: str) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._base = base

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except FOREIGN as error:
            raise translated(error, self._base) from None
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def close(self) -> None:
        """Give the connection back. A body that was not read to its end takes it along, and at
        once: a farewell in TLS would wait for an answer, which a silent peer never gives."""
        response = self._response
        if response.content.at_eof():
            response.release()
        else:
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()


def translated(error: Exception, where: str) -> IsthmusError:
    """Return our own error for one of aiohttp's, without anything it may carry along."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(f"{where}: the name of the server cannot be resolved")
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"{where}: the proxy cannot be reached")
        case aiohttp.ClientHttpProxyError():
            return Unreachable(f"{where}: the proxy refuses ({error.status})")
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ssl.SSLError):
            return _tls_failed(error.os_error, where)
        case ssl.SSLError():
            return _tls_failed(error, where)
        case TimeoutError():
            return Unreachable(f"{where}: no connection in time")
        case aiohttp.ClientConnectorError():
            return Unreachable(f"{where}: {_plain(error.os_error)}")
        case aiohttp.ServerDisconnectedError():
            return Unreachable(f"{where}: the server closed the connection without an answer")
        case aiohttp.ClientPayloadError():
            if isinstance(error.__cause__, HttpProcessingError) and _is_nonsense(error.__cause__):
                return Garbled(f"{where}: the answer cannot be decoded")
            return Unreachable(f"{where}: the answer broke off")
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return Garbled(f"{where}: the answer is not HTTP as we know it")
        case aiohttp.InvalidURL():
            return BadConfig(f"{where}: not a usable address")
        case OSError():
            # aiohttp raises some without a number: a kept connection that the server has closed.
            words = f": {_plain(error)}" if error.errno else ""
            return Unreachable(f"{where}: the connection broke{words}")
    return Unreachable(f"{where}: the connection failed ({type(error).__name__})")


@lru_cache(maxsize=256)  # most requests are writes to the same few collections
def _url(base: str, path: str, query: tuple[tuple[str, str], ...]) -> URL:
    asked = "?" + urlencode(query, quote_via=quote) if query else ""
    return URL(base + path + asked, encoded=True)


def _payload(body: bytes) -> bytes | BytesIO | None:
    """Return what aiohttp takes as a body: it wants large ones as files, to send in pieces."""
    if len(body) > LARGE:
        return BytesIO(body)
    return body or None


def _is_nonsense(cause: HttpProcessingError) -> bool:
    """Tell bytes that make no sense from bytes that are missing."""
    return not isinstance(
        cause,
        aiohttp.http_exceptions.ContentLengthError | aiohttp.http_exceptions.TransferEncodingError,
    )


def _tls_failed(error: ssl.SSLError, where: str) -> IsthmusError:
    reason = (error.reason or "").upper()
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return Garbled(f"{where}: what answers there does not speak TLS")
    if "ALERT" in reason and ("CERT" in reason or "UNKNOWN_CA" in reason):
        return Unauthorized(f"{where}: the server does not accept our client certificate")
    return Unreachable(f"{where}: TLS failed ({reason.lower().replace('_', ' ') or 'closed'})")


def _plain(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else "the connection failed"


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket whose kernel notices a peer that is gone, and does not hold small writes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 30),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", UNACKNOWLEDGED),
    ):
        if hasattr(socket, option):  # some systems lack some of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
