"""A value that is overwritten, for readers who want the newest and may skip the rest."""

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """One cell: publishing never waits, and a slow reader costs no memory."""

    def __init__(self) -> None:
        self._published: tuple[int, T] | None = None
        self._changed = asyncio.Event()

    def publish(self, value: T) -> None:
        version = 0 if self._published is None else self._published[0]
        self._published = (version + 1, value)
        # Each event serves one change, so that a reader cannot miss the one after it.
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[T]:
        """Yield the value that is there, then each newest one that was not yielded yet."""
        seen = 0
        while True:
            if self._published is None or self._published[0] == seen:
                await self._changed.wait()
                continue
            seen, value = self._published
            yield value
