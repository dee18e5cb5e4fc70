"""The front of an embedded cluster that kubectl and every other client can use: HTTPS."""

import logging
import ssl
import tempfile
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from isthmus.embedded.api.answers import Answer, refused
from isthmus.embedded.api.calls import BODY_LIMIT
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts import protobuf, sockets
from isthmus.embedded.fronts.kubeconfigs import Entry, kubeconfig
from isthmus.embedded.kinds.refusals import bad_request
from isthmus.embedded.status import Refusal
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request
from isthmus.model.addresses import bracketed
from isthmus.model.wire import JsonObject

_WORTH_COMPRESSING = 128 * 1024  # bytes; the real server's threshold, too
_PATIENCE = 0.1  # seconds that open requests get to end when the server closes
_GZIP = 16 + zlib.MAX_WBITS

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A cluster that answers at ``url``."""

    cluster: str
    url: str
    ca_pem: str
    token: str = field(repr=False)

    def entry(self) -> Entry:
        return Entry(cluster=self.cluster, url=self.url, token=self.token, ca_pem=self.ca_pem)

    def kubeconfig(self) -> JsonObject:
        """A kubeconfig with one context, named after the cluster, for its administrator."""
        return kubeconfig([self.entry()])


@asynccontextmanager
async def serve(
    cluster: Cluster, host: str = "127.0.0.1", port: int = 0, *, tls: bool = True
) -> AsyncIterator[Served]:
    """Serve ``cluster`` until the context ends; port 0 lets the system choose a free one."""
    application = web.Application(client_max_size=BODY_LIMIT + 1)
    application.router.add_route("*", "/{path:.*}", _Front(cluster).answer)
    # handler_cancellation ends a watch as soon as its client goes away.
    log.addFilter(_is_ours)
    runner = web.AppRunner(
        application,
        handler_cancellation=True,
        access_log=None,
        logger=log,
        shutdown_timeout=_PATIENCE,
    )
    context = _context(cluster, host) if tls else None
    abort = partial(_abort, runner)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=context).start()
        bound_host, bound_port = runner.addresses[0][:2]
        cluster.faults.on_disconnect.add(abort)
        yield Served(
            cluster=cluster.name,
            url=f"{'https' if tls else 'http'}://{bracketed(bound_host)}:{bound_port}",
            ca_pem=cluster.authority.pem if tls else "",
            token=cluster.admin_token,
        )
    finally:
        cluster.faults.on_disconnect.discard(abort)
        await runner.cleanup()


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether aiohttp tells of a mistake of ours; what is no HTTP concerns only its sender."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


def _context(cluster: Cluster, host: str) -> ssl.SSLContext:
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    names += [f"kubernetes.default.svc.{cluster.domain}", "localhost"]
    pair = cluster.authority.issue(list(dict.fromkeys([host, *names])), datetime.now(UTC))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # OpenSSL reads keys from files only; this one is private and gone in a moment.
    with tempfile.TemporaryDirectory() as directory:
        chain = Path(directory, "server.pem")
        chain.touch(mode=0o600)
        chain.write_bytes(pair.key + pair.certificate)
        context.load_cert_chain(chain)
    return context


def _abort(runner: web.AppRunner) -> None:
    """Break every connection, silent ones included."""
    for connection in runner.server.connections if runner.server else ():
        if connection.transport is not None:
            connection.transport.abort()


class _Front:
    """Translates HTTP to requests of the API, and its answers back."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._faults = cluster.faults

    async def answer(self, request: web.Request) -> web.StreamResponse:
        headers = _headers(request)
        if sockets.is_upgrade(request):
            return await self._execute(request, headers)
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            limit = f"Request entity too large: limit is {BODY_LIMIT}"
            return _whole(refused(Refusal(413, "RequestEntityTooLarge", limit)), headers)
        except web.RequestPayloadError:
            return _whole(
                refused(bad_request("the body is not encoded as its headers say")), headers
            )
        if headers.get("content-type", "").startswith(protobuf.CONTENT_TYPE):
            headers, body = _as_json(headers, body)
        asked = _asked(request, headers, body)
        try:
            answer = await self._faults.handle(asked)
            if answer.stream is None:
                return _whole(answer, headers)
            return await _streamed(request, answer)
        except Unreachable:
            # To the client this is a connection that breaks, not an answer.
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)

    async def _execute(
        self, request: web.Request, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        """Run a command in a pod, and show what it prints."""
        try:
            wanted = self._cluster.api.execution(_asked(request, headers))
            if self._cluster.execute is None:
                raise Refusal(500, "InternalError", "no machine runs this cluster's pods")
        except Refusal as refusal:
            return _whole(refused(refusal), headers)
        socket = await sockets.opened(request)
        await sockets.show(socket, await self._cluster.execute(wanted))
        return socket


def _asked(request: web.Request, headers: Mapping[str, str], body: bytes = b"") -> Request:
    return Request(
        method=request.method,
        path=request.rel_url.raw_path,
        query=tuple(request.rel_url.query.items()),
        headers=headers,
        body=body,
    )


def _headers(request: web.Request) -> dict[str, str]:
    """Lower-case names; a header that comes twice is one with two values (RFC 9110, 5.2).

    Bytes that are no text are replaced: an answer may repeat a header, and is always text.
    """
    headers: dict[str, str] = {}
    for name, raw in request.headers.items():
        key = name.lower()
        value = raw.encode(errors="surrogateescape").decode(errors="replace")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _as_json(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    """A protobuf body in JSON; what cannot be read stays, for the API to refuse its type."""
    try:
        found = protobuf.object_of(body)
    except protobuf.Unreadable:
        return headers, body
    return {**headers, "content-type": "application/json"}, msgspec.json.encode(found)


def _whole(answer: Answer, asked: Mapping[str, str]) -> web.Response:
    headers, body = dict(answer.headers), answer.body
    if len(body) >= _WORTH_COMPRESSING and "gzip" in asked.get("accept-encoding", ""):
        compressor = zlib.compressobj(1, wbits=_GZIP)
        body = compressor.compress(body) + compressor.flush()
        headers["content-encoding"] = "gzip"
    return web.Response(status=answer.status, headers=headers, body=body)


async def _streamed(request: web.Request, answer: Answer) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.enable_chunked_encoding()
    async with aclosing(answer.parts()) as parts:
        try:
            await response.prepare(request)
            async for chunk in parts:
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            pass  # The client has gone; nobody is left to tell.
    return response
