"""A bounded number at once, and nobody waits for a crowd: those who wait are served in turn."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from isthmus.model.errors import Transient

K = TypeVar("K", bound=Hashable)


class Crowded(Transient):
    """More wait already than there is room for."""


class Turns(Generic[K]):
    """A semaphore that is fair between keys: each gets a turn before one gets its next.

    ``line`` is how many of one key may wait, ``waiting`` how many of all.
    """

    def __init__(self, at_once: int, *, line: int, waiting: int) -> None:
        self._free = at_once
        self._line = line
        self._room = waiting
        self._lines: OrderedDict[K, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, key: K) -> AsyncIterator[None]:
        """Wait for a turn and take it; raise :class:`Crowded` instead of waiting without end."""
        await self._wait(key)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, key: K) -> None:
        if self._free > 0:
            self._free -= 1
            return
        line = self._lines.get(key, ())
        if len(line) >= self._line or self._room == 0:
            raise Crowded("too many requests are waiting; try again later")
        mine = asyncio.get_running_loop().create_future()
        self._lines.setdefault(key, deque()).append(mine)
        self._room -= 1
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # the turn came in the very moment of giving up
            else:
                self._leave(key, mine)
            raise

    def _pass_on(self) -> None:
        """Give a turn to the first of the key that has waited longest since its last one."""
        if not self._lines:
            self._free += 1
            return
        key, line = self._lines.popitem(last=False)
        self._room += 1
        line.popleft().set_result(None)
        if line:
            self._lines[key] = line

    def _leave(self, key: K, mine: asyncio.Future[None]) -> None:
        line = self._lines[key]
        line.remove(mine)
        self._room += 1
        if not line:
            del self._lines[key]
