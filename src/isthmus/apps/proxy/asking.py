"""Asks the controller for a certificate, once it has proved to be the controller.

A token is as good as the account that it is of, so that not a byte is sent to anybody else.
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from isthmus.apps.credentials import client_context, pin
from isthmus.apps.signed import LARGEST_ANSWER, PATH, Denied, Signed
from isthmus.kube.credentials import read_token
from isthmus.kube.quoting import one_line
from isthmus.model.errors import Transient
from isthmus.model.identities import Identity
from isthmus.pki.bundle import Bundle

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
    """The way to one cluster's authority."""

    def __init__(self, place: tuple[str, int], identity: Identity, token: Path) -> None:
        host, port = place
        self._where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._identity = identity
        self._token = token

    async def sign(self, csr: bytes, anchors: Bundle) -> Signed:
        """Have a request signed; trust whoever ``anchors`` vouch for, if it is the controller."""
        # The kubelet replaces the token long before it ends: read at each use, it is never old.
        headers = {**read_token(self._token, str(self._token)), "Accept-Encoding": "identity"}
        context = pin(client_context(anchors), self._identity)
        url = URL(f"https://{self._where}{PATH}", encoded=True)
        try:
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(ssl=context, force_close=True),
                    timeout=TIMEOUT,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    skip_auto_headers=("User-Agent",),
                    auto_decompress=False,
                ) as session,
                session.post(url, data=csr, headers=headers, allow_redirects=False) as answer,
            ):
                return self._signed(answer.status, answer.headers, await _read(answer))
        except FOREIGN as error:
            # aiohttp's errors carry the request, and with it the token: they stay here.
            raise Unsigned(f"{self._where}: {_plain(error)}") from None

    def _signed(self, status: int, headers: Mapping[str, str], body: bytes) -> Signed:
        try:
            if status == 200:
                return msgspec.json.decode(body, type=Signed)
            text = msgspec.json.decode(body, type=Denied).error
        except msgspec.MsgspecError:
            text = "the answer is not a controller's"
        wish = headers.get("Retry-After", "")
        wait = min(float(wish), LONGEST_WAIT) if wish.isdecimal() else 0.0
        raise Unsigned(f"{self._where} ({status}): {one_line(text, LONGEST_TEXT)}", wait)


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
