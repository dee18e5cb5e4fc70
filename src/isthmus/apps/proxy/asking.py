"""Asks the controller for a certificate, once it has proved to be the controller.

A token is as good as the account that it is of, so that not a byte is sent to anybody else. Under
the certificate that it got, a proxy says that it uses it, and hears what it should use.
"""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from isthmus.apps.credentials import Credentials, client_context, pin
from isthmus.apps.signed import (
    LARGEST_ANSWER,
    PATH,
    USING_PATH,
    Current,
    Denied,
    Signed,
    Using,
)
from isthmus.kube.credentials import read_token
from isthmus.model.addresses import bracketed
from isthmus.model.errors import Transient
from isthmus.model.identities import Identity
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE
from isthmus.pki.bundle import Bundle
from isthmus.pki.keys import chain_pem

T = TypeVar("T")

TIMEOUT = aiohttp.ClientTimeout(total=30.0, connect=10.0)
LONGEST_TEXT = 300
LONGEST_WAIT = 300.0  # seconds that a controller may ask for
FOREIGN = (aiohttp.ClientError, HttpProcessingError, OSError, TimeoutError)


class Unsigned(Transient):
    """There was no certificate. ``retry_after`` is the controller's wish, in seconds."""

    def __init__(self, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Controller:
    """The way to one cluster's authority. ``name`` is the proxy's own."""

    def __init__(
        self, place: tuple[str, int], identity: Identity, token: Path, name: str = ""
    ) -> None:
        host, port = place
        self._where = f"{bracketed(host)}:{port}"
        self._identity = identity
        self._token = token
        self._name = name

    async def sign(self, csr: bytes, anchors: Bundle) -> Signed:
        """Have a request signed; trust whoever ``anchors`` vouch for, if it is the controller."""
        # The kubelet replaces the token long before it ends: read at each use, it is never old.
        headers = read_token(self._token, str(self._token))
        return await self._post(client_context(anchors), _Question(PATH, csr, headers, Signed))

    async def tell(self, own: Credentials, anchors: Bundle) -> Current:
        """Say, by using it, which certificate is in use; return what should be."""
        issuer = chain_pem(own.issuer).decode()
        said = msgspec.json.encode(Using(self._name, issuer, anchors.fingerprints))
        context = client_context(anchors, own)
        return await self._post(context, _Question(USING_PATH, said, {}, Current))

    async def _post(self, context: ssl.SSLContext, question: "_Question[T]") -> T:
        headers = {**question.headers, "Accept-Encoding": "identity"}
        url = URL(f"https://{self._where}{question.path}", encoded=True)
        connector = aiohttp.TCPConnector(ssl=pin(context, self._identity), force_close=True)
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    timeout=TIMEOUT,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    skip_auto_headers=("User-Agent",),
                    auto_decompress=False,
                ) as session,
                session.post(
                    url, data=question.body, headers=headers, allow_redirects=False
                ) as answer,
            ):
                wish = answer.headers.get("Retry-After", "")
                got = Got(answer.status, wish, await _read(answer))
                return taken(question.type, got, self._where)
        except FOREIGN as error:
            # aiohttp's errors carry the request, and with it the token: they stay here.
            raise Unsigned(f"{self._where}: {_plain(error)}") from None


class Got(NamedTuple):
    """An answer, as it came."""

    status: int
    wish: str  # for a pause
    body: bytes


def taken(wanted: type[T], got: Got, where: str) -> T:
    """Return what the controller at ``where`` has answered; raise :class:`Unsigned` if it is no."""
    try:
        if got.status == 200:
            return msgspec.json.decode(got.body, type=wanted)
        text = msgspec.json.decode(got.body, type=Denied).error
    except UNREADABLE:
        text = "the answer is not a controller's"
    wait = min(float(got.wish), LONGEST_WAIT) if got.wish.isdecimal() else 0.0
    raise Unsigned(f"{where} ({got.status}): {one_line(text, LONGEST_TEXT)}", wait)


@dataclass(frozen=True, slots=True)
class _Question(Generic[T]):
    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    type: type[T]


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    while chunk := await answer.content.readany():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            return b""
    return bytes(body)


def _plain(error: Exception) -> str:
    """Say what went wrong, without anything that the error may carry along."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _distrust(error.certificate_error)
        case aiohttp.ClientConnectorDNSError():
            return "the name cannot be resolved"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ssl.SSLError):
            return f"TLS failed ({(error.os_error.reason or 'closed').lower()})"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno
            return os.strerror(number).lower() if number else "no connection"
        case TimeoutError():
            return "no answer in time"
    return "the connection broke"


def _distrust(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        # Ours has no code; the text of OpenSSL's own names lines of its source.
        found = getattr(error, "verify_message", "") or str(error)
        return f"not trusted: {one_line(found, LONGEST_TEXT)}"
    return "not trusted"
