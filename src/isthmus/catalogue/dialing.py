"""Opens another cluster's catalogue through its gateway, under mutual TLS; or only knocks there.

OpenSSL verifies the chain, and with it that the issuer may speak for the cluster that is named;
that the name is the gateway's is verified here, before a byte of the answer is read.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from isthmus.catalogue.callers import Site
from isthmus.catalogue.errors import Forbidden, Garbled, Unavailable, Unreachable, Untrusted
from isthmus.catalogue.following import SILENCE, Chunks, Door
from isthmus.model.addresses import bracketed
from isthmus.model.errors import IsthmusError
from isthmus.model.wire import JsonObject
from isthmus.xds.names import (
    CATALOGUE,
    CATALOGUE_HOST,
    CATALOGUE_PATH,
    DESTINATION,
    PROBE,
    PROBE_HOST,
    PROBE_PATH,
)

HEADERS = {"Host": CATALOGUE_HOST, DESTINATION: CATALOGUE, "Accept-Encoding": "identity"}
TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10.0, sock_read=SILENCE)
ANSWER = 20.0  # seconds until a gateway's answer begins; the next one has to get its turn
KNOCK = (
    f"GET {PROBE_PATH} HTTP/1.1\r\nHost: {PROBE_HOST}\r\n{DESTINATION}: {PROBE}\r\n"
    "Connection: close\r\n\r\n"
).encode()
FOREIGN = (aiohttp.ClientError, HttpProcessingError, OSError, TimeoutError)


class Dialer:
    """``context`` returns the TLS context of the moment: certificates are replaced live.

    It has to verify the chain of whoever answers and to show our own; names are left to us.
    """

    def __init__(self, site: Site, context: Callable[[], ssl.SSLContext], random: Random) -> None:
        self._site = site
        self._context = context
        self._random = random

    @asynccontextmanager
    async def open(self, door: Door) -> AsyncIterator[Chunks]:
        """Lend the catalogue of the first gateway that serves it; raise what the last one said."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._context(), force_close=True),
            timeout=TIMEOUT,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent",),
        ) as session:
            response = await self._response(session, door)
            try:
                yield _chunks(response, door.cluster)
            finally:
                # A farewell in TLS would wait for an answer, which a silent peer never gives.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()
                response.close()

    async def probe(self, door: Door, address: str) -> None:
        """Ask the gateway at ``address`` whether it is there; raise why not, or that another is."""
        where = f"{bracketed(address)}:{door.port}"
        try:
            reader, writer = await asyncio.open_connection(address, door.port, ssl=self._context())
            try:
                stranger = self._proven(writer.get_extra_info("peercert"), door.cluster, where)
                if stranger is not None:
                    raise stranger
                writer.write(KNOCK)
                # A gateway that does not accept our certificate says so only now.
                answer = await reader.readline()
            finally:
                writer.transport.abort()
        except FOREIGN as error:
            raise translated(error, where) from None
        except ValueError:
            raise Garbled(f"{where}: the answer is not HTTP as we know it") from None
        if not answer:
            raise _hung_up(where)
        if answer.split()[1:2] != [b"200"]:
            raise Unavailable(f"{where}: who is there does not answer as a gateway does")

    async def _response(self, session: aiohttp.ClientSession, door: Door) -> aiohttp.ClientResponse:
        """Ask one gateway after the other, in an order that spreads those who ask."""
        error: IsthmusError = Unreachable(f"cluster {door.cluster}: its gateway has no address")
        for address in self._random.sample(door.addresses, len(door.addresses)):
            try:
                return await self._ask(session, door, address)
            except IsthmusError as failed:
                error = failed
        raise error

    async def _ask(
        self, session: aiohttp.ClientSession, door: Door, address: str
    ) -> aiohttp.ClientResponse:
        where = f"{bracketed(address)}:{door.port}"
        url = URL(f"https://{where}{CATALOGUE_PATH}", encoded=True)
        try:
            async with asyncio.timeout(ANSWER):
                response = await session.get(url, headers=HEADERS, allow_redirects=False)
        except FOREIGN as error:
            raise translated(error, where) from None
        problem = _refusal(response, door.cluster) or self._stranger(response, door.cluster, where)
        if problem is not None:
            response.close()
            raise problem
        return response

    def _stranger(
        self, response: aiohttp.ClientResponse, cluster: str, where: str
    ) -> IsthmusError | None:
        connection = response.connection
        if connection is None or connection.transport is None:
            return Garbled(f"{where}: the answer ended where the catalogue should begin")
        return self._proven(connection.transport.get_extra_info("peercert"), cluster, where)

    def _proven(
        self, certificate: JsonObject | None, cluster: str, where: str
    ) -> IsthmusError | None:
        expected = self._site.gateway(cluster)
        if (certificate or {}).get("subjectAltName") == (("URI", expected),):
            return None
        return Untrusted(f"{where}: who answers there does not prove to be {expected}")


async def _chunks(response: aiohttp.ClientResponse, cluster: str) -> Chunks:
    while True:
        try:
            chunk = await response.content.readany()
        except FOREIGN as error:
            raise translated(error, f"catalogue of {cluster}") from None
        if not chunk:
            return
        yield chunk


def _refusal(response: aiohttp.ClientResponse, cluster: str) -> IsthmusError | None:
    match response.status:
        case 200:
            return None
        case 401 | 403:
            return Forbidden(
                f"cluster {cluster} has no Grant for this one; write one there, and this goes on"
            )
        case status:
            return Unavailable(f"cluster {cluster} serves no catalogue now ({status})")


def translated(error: Exception, where: str) -> IsthmusError:
    """Return our own error for one of aiohttp's, without anything it may carry along."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _untrusted(error.certificate_error, where)
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ssl.SSLError):
            return _tls(error.os_error, where)
        case ssl.SSLCertVerificationError():
            return _untrusted(error, where)
        case ssl.SSLError():
            return _tls(error, where)
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return Garbled(f"{where}: the answer is not HTTP as we know it")
        case TimeoutError():
            return Unreachable(f"{where}: no answer in time")
        case aiohttp.ServerDisconnectedError():
            return _hung_up(where)
        case aiohttp.ClientConnectorError():
            return Unreachable(f"{where}: {error.os_error.strerror or 'no connection'}")
        case OSError() if error.errno:
            return Unreachable(f"{where}: {os.strerror(error.errno)}")
    return Unreachable(f"{where}: the connection broke")


def _hung_up(where: str) -> Unreachable:
    return Unreachable(f"{where}: hung up without an answer; does it trust our certificate?")


def _untrusted(error: Exception, where: str) -> Untrusted:
    reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else "invalid"
    return Untrusted(f"{where}: the gateway's certificate is not trusted: {reason}")


def _tls(error: ssl.SSLError, where: str) -> IsthmusError:
    reason = (error.reason or "closed").lower().replace("_", " ")
    if "alert" in reason:
        return Untrusted(f"{where}: the gateway does not accept our certificate ({reason})")
    return Unreachable(f"{where}: TLS failed ({reason})")
