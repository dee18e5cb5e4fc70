"""Follows a catalogue over one connection, for as long as it says something in time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeAlias

from isthmus.catalogue.errors import Unreachable
from isthmus.catalogue.messages import HEARTBEAT
from isthmus.catalogue.reader import Heard, Reader

SILENCE = 3 * HEARTBEAT  # seconds without a message after which nobody is there
LONGEST_SNAPSHOT = 300.0  # seconds; one that takes longer never ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where the gateways of a cluster answer."""

    cluster: str
    addresses: tuple[str, ...]
    port: int


Chunks: TypeAlias = AsyncIterator[bytes]
Open: TypeAlias = Callable[[Door], AbstractAsyncContextManager[Chunks]]


async def follow(chunks: Chunks, reader: Reader, heard: Callable[[Heard], None]) -> None:
    """Pass on what is heard until the stream ends; raise an error if it does so too early.

    Messages count, not bytes: whoever sends a byte now and then is as silent as one who does not.
    """
    now = asyncio.get_running_loop().time
    must_be_complete = now() + LONGEST_SNAPSHOT

    def due() -> float:
        silent = now() + SILENCE
        return silent if reader.is_complete else min(silent, must_be_complete)

    try:
        async with asyncio.timeout_at(due()) as timer:
            async for chunk in chunks:
                for one in reader.receive(chunk):
                    heard(one)
                    timer.reschedule(due())
    except TimeoutError:
        raise Unreachable("the catalogue has fallen silent") from None
    if not reader.is_complete:
        raise Unreachable("the catalogue broke off before it was complete")
