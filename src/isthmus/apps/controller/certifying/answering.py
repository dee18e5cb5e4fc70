"""Bodies in, answers out: what the controller's HTTPS server does the same way for everybody."""

import asyncio
from typing import Protocol

import msgspec
from aiohttp import web

from isthmus.apps.controller.certifying.refusal import Reason, Refused
from isthmus.apps.signed import Denied

BODY = 10.0  # seconds for a request's body


class Body(Protocol):
    """What a request's body is read from."""

    async def read(self, n: int = -1) -> bytes: ...


async def read(body: Body, largest: int) -> bytes:
    """Return a whole body; raise :class:`Refused` if it is too large or too slow."""
    parts = bytearray()
    try:
        async with asyncio.timeout(BODY):
            while chunk := await body.read(largest + 1 - len(parts)):
                parts += chunk
                if len(parts) > largest:
                    raise too_large(largest)
    except TimeoutError:
        text = f"the request's body did not come within {BODY:g} s"
        raise Refused(Reason.SLOW, text) from None
    return bytes(parts)


def too_large(largest: int) -> Refused:
    return Refused(Reason.TOO_LARGE, f"the request is larger than {largest // 1024} KiB")


def refusal(refused: Refused) -> web.Response:
    made = answer(refused.reason.value, Denied(str(refused)))
    if refused.reason is Reason.UNAUTHENTICATED:
        made.headers["WWW-Authenticate"] = "Bearer"
    if refused.retry_after:
        made.headers["Retry-After"] = str(int(refused.retry_after) + 1)
    return made


def answer(status: int, value: object) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(status=status, body=body, content_type="application/json")
