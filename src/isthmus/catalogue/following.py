"""Follows a catalogue over one connection, for as long as it says something in time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import TypeAlias

from isthmus.catalogue.errors import Unreachable
from isthmus.catalogue.messages import HEARTBEAT, Hello
from isthmus.catalogue.reader import Heard, Reader, Snapshot

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


async def follow(chunks: Chunks, reader: Reader) -> AsyncGenerator[Heard, None]:
    """Yield what is heard until the stream ends; raise an error if it does so too early.

    Messages count, not bytes: whoever sends a byte now and then is as silent as one who does not.
    """
    now = asyncio.get_running_loop().time
    must_be_complete = now() + LONGEST_SNAPSHOT
    silent = now() + SILENCE
    while True:
        due = silent if reader.is_complete else min(silent, must_be_complete)
        try:
            async with asyncio.timeout_at(due):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise Unreachable("the catalogue has fallen silent") from None
        if chunk is None:
            break
        before = reader.messages
        for one in reader.receive(chunk):
            yield one
        if reader.messages > before:
            silent = now() + SILENCE
    if not reader.is_complete:
        raise Unreachable("the catalogue broke off before it was complete")


async def snapshot(chunks: Chunks, reader: Reader) -> tuple[Hello, Snapshot]:
    """Return the first thing that is heard, and everything that is offered then."""
    async with aclosing(follow(chunks, reader)) as heard:
        hello = one = await anext(heard)
        while not isinstance(one, Snapshot):
            one = await anext(heard)  # which raises if the catalogue breaks off before its end
        assert isinstance(hello, Hello)  # the reader takes nothing else first
        return hello, one
