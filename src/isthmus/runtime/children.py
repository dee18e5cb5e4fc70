"""Processes that this one has started, and how they are ended."""

import asyncio
from contextlib import suppress


async def end(child: asyncio.subprocess.Process, grace: float) -> None:
    """Ask ``child`` to end; after ``grace`` seconds, make it."""
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.terminate()
    try:
        async with asyncio.timeout(grace):
            await child.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
