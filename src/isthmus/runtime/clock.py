"""Time as an argument, so that a test can let an hour of backoff pass at once."""

import asyncio
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
    """The clock of the running event loop, which a test may have replaced by a virtual one."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
