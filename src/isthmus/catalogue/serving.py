"""Serves the catalogue over HTTP, to the gateway and through it to other controllers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import TypeAlias

from aiohttp import web

from isthmus.catalogue.callers import HEADER, Site, source
from isthmus.catalogue.errors import Forbidden, Unavailable
from isthmus.catalogue.messages import HEARTBEAT, Alive, Revoked, line
from isthmus.catalogue.offers import Offers, Stream
from isthmus.xds.names import CATALOGUE_PATH

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/x-ndjson"
PATIENCE = 30.0  # seconds for a reader to take a piece; a slow one has to begin anew
LONGEST = 3600.0  # seconds of one stream: certificates end, and nothing is trusted for ever
RETRY = 5  # seconds, for those who come too early

Peer: TypeAlias = Callable[[web.Request], str | None]


async def spoken(stream: Stream, longest: float = LONGEST) -> AsyncIterator[bytes]:
    """Yield the catalogue as ``stream`` is to be told it, then what changes, or signs of life."""
    now = asyncio.get_running_loop().time
    until = now() + longest
    yield line(stream.hello)
    while not stream.is_over:
        told = stream.take()
        if told:
            yield told
            continue
        if now() >= until:
            return
        try:
            async with asyncio.timeout(HEARTBEAT):
                await stream.touched.wait()
        except TimeoutError:
            yield line(Alive())
    if stream.is_revoked:
        yield line(Revoked())


def mount(app: web.Application, offers: Offers, site: Site, peer: Peer, random: Random) -> None:
    """Let ``app`` serve the catalogue; ``peer`` tells whom a request's TLS connection proves."""

    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            cluster = source(peer(request), request.headers.getall(HEADER, ()), site)
            stream = offers.open(cluster)
        except Forbidden as error:
            log.warning("catalogue refused", extra={"error": str(error)})
            return web.Response(status=403, text=f"{error}\n")
        except Unavailable as error:
            headers = {"Retry-After": str(RETRY)}
            return web.Response(status=503, text=f"{error}\n", headers=headers)
        log.info("catalogue is followed", extra={"cluster": cluster})
        try:
            return await _stream(request, stream, LONGEST * random.uniform(0.9, 1.0))
        finally:
            offers.forget(stream)
            log.info("catalogue is no longer followed", extra={"cluster": cluster})

    async def close(_: web.Application) -> None:
        offers.close()

    app.router.add_get(CATALOGUE_PATH, serve, allow_head=False)
    app.on_shutdown.append(close)


async def _stream(request: web.Request, stream: Stream, longest: float) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    await response.prepare(request)
    try:
        async for chunk in spoken(stream, longest):
            async with asyncio.timeout(PATIENCE):
                await response.write(chunk)
        await response.write_eof()
    except TimeoutError:
        log.info("a reader of the catalogue is too slow", extra={"cluster": stream.cluster})
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass  # the reader is gone
    return response
