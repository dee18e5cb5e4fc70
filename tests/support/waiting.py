"""Wait for a state instead of for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(
    read: Callable[[], Awaitable[T]], ready: Callable[[T], bool], *, within: float = 10
) -> T:
    """Read again and again until ``ready``; on timeout, show what was there instead.

    Whoever has waited for long looks less often: hours of virtual time are made of such looks.
    """
    clock = asyncio.get_running_loop().time
    started = clock()
    while True:
        found = await read()
        if ready(found):
            return found
        if clock() > started + within:
            raise TimeoutError(f"not ready within {within} s; last seen: {found!r}")
        await asyncio.sleep(min(max(0.02, (clock() - started) / 50), 1))


async def eventually(ready: Callable[[], bool], *, within: float = 10) -> None:
    """Wait until ``ready`` says so; for states that can be read without waiting."""

    async def read() -> bool:
        return ready()

    await until(read, lambda found: found, within=within)
