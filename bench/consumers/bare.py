"""The floor: aiohttp and a decoder, nothing else. No retries, no limits, no recovery."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from bench.target import ENDPOINT_SLICES, SERVICES, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoders:
    """What turns bytes into values: a whole list, and one line of a watch."""

    services: Callable[[bytes], Sized]
    slices: Callable[[bytes], Sized]
    event: Callable[[bytes], object]


def listing(target: Target, decoders: Decoders) -> list[Sized]:
    return asyncio.run(_listing(target, decoders))


def watching(target: Target, decoders: Decoders, seen: Callable[[], bool]) -> None:
    asyncio.run(_watching(target, decoders, seen))


async def _listing(target: Target, decoders: Decoders) -> list[Sized]:
    found: list[Sized] = []
    async with _session(target) as session:
        for path, decode in (
            (SERVICES, decoders.services),
            (ENDPOINT_SLICES, decoders.slices),
        ):
            async with session.get(path) as answer:
                answer.raise_for_status()
                found.append(decode(await answer.read()))
    return found


async def _watching(target: Target, decoders: Decoders, seen: Callable[[], bool]) -> None:
    query = {"watch": "1", "resourceVersion": target.since}
    async with _session(target) as session, session.get(SERVICES, params=query) as answer:
        answer.raise_for_status()
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                decoders.event(line)
                if seen():
                    return


@asynccontextmanager
async def _session(target: Target) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        target.url,
        headers={**target.headers, "Accept": "application/json"},
        connector=aiohttp.TCPConnector(ssl=target.trust()),
        timeout=aiohttp.ClientTimeout(300),
    ) as session:
        yield session
