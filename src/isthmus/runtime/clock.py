"""Time as an argument, so that a test can let an hour of backoff pass at once."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

# Seconds by which a timer may fire early: the event loop rounds. What is due within a grain is
# due now; to wait for the rest of it would mean to spin.
GRAIN = 0.001


class Clock(Protocol):
    """What code may know about time; durations come from ``now``, never from ``utc``."""

    def now(self) -> float:
        """Return seconds that only ever grow; where they start means nothing."""
        ...

    def utc(self) -> datetime:
        """Return the wall clock, for others to read; it may jump."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clock of the event loop in which it is asked first; a test's loop may be a virtual one.

    It is asked several times for each request, and to find the loop asks the kernel who we are
    (in Python 3.11).
    """

    _time: Callable[[], float] | None = None

    def now(self) -> float:
        if self._time is None:
            self._time = asyncio.get_running_loop().time
        return self._time()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
