"""Waits for what has been started to answer."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp

from isthmus.model.errors import Transient

PATIENCE = 60.0  # seconds; a busy machine takes long to start six programs
_GLANCE = 0.05  # seconds between two looks
_ASK = aiohttp.ClientTimeout(total=5)


class NotInTime(Transient):
    """Something does not answer, long after it should."""


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until something holds; raises ``NotInTime``."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + PATIENCE
    while not await holds():
        if clock() > deadline:
            raise NotInTime(f"{what} does not answer after {PATIENCE:g} s")
        await asyncio.sleep(_GLANCE)


async def listens(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.transport.abort()
    return True


async def is_ready(url: str) -> bool:
    """Tell whether a page of health says so."""
    try:
        async with aiohttp.ClientSession(timeout=_ASK) as session, session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError):
        return False
