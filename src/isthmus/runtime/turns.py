"""A bounded number at once, and nobody waits for a crowd: those who wait are served in turn."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Collection, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from isthmus.model.errors import Transient

K = TypeVar("K", bound=Hashable)


class Crowded(Transient):
    """More wait already than there is room for."""


_CROWDED = "too many requests are waiting; try again later"


class Turns(Generic[K]):
    """A semaphore that is fair between keys: each gets a turn before one gets its next.

    ``line`` is how many of one key may wait, ``waiting`` how many of all; when all places are
    taken, whoever has many waiting gives one up for whoever has few.
    """

    def __init__(self, at_once: int, *, line: int, waiting: int) -> None:
        self._free = at_once
        self._line = line
        self._most = waiting
        self._waiting = 0
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
        if len(line) >= self._line or (self._waiting == self._most and not self._made_room(line)):
            raise Crowded(_CROWDED)
        mine = asyncio.get_running_loop().create_future()
        self._lines.setdefault(key, deque()).append(mine)
        self._waiting += 1
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled() and mine.exception() is None:
                self._pass_on()  # the turn came in the very moment of giving up
            elif mine in self._lines.get(key, ()):
                self._leave(key, mine)
            raise

    def _pass_on(self) -> None:
        """Give a turn to the first of the key that has waited longest since its last one."""
        while self._lines:
            key, line = self._lines.popitem(last=False)
            first = line.popleft()
            self._waiting -= 1
            if line:
                self._lines[key] = line
            if not first.done():  # it may have given up, and not have noticed yet
                first.set_result(None)
                return
        self._free += 1

    def _made_room(self, line: Collection[asyncio.Future[None]]) -> bool:
        """Send the last of the longest line away, if that is longer than ``line`` will be."""
        key, longest = max(self._lines.items(), key=lambda each: len(each[1]))
        if len(longest) <= len(line) + 1:
            return False
        last = longest[-1]
        self._leave(key, last)
        if not last.done():
            last.set_exception(Crowded(_CROWDED))
        return True

    def _leave(self, key: K, mine: asyncio.Future[None]) -> None:
        line = self._lines[key]
        line.remove(mine)
        self._waiting -= 1
        if not line:
            del self._lines[key]
