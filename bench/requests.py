"""Bare requests, so that nothing that is measured has been warmed up by preparing for it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

import aiohttp

from isthmus.model.wire import JsonObject

T = TypeVar("T")

WRITERS = 16


class Server(Protocol):
    """What it takes to talk to an API server."""

    @property
    def url(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def trust(self) -> ssl.SSLContext: ...


@asynccontextmanager
async def session(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        server.url,
        headers=server.headers,
        connector=aiohttp.TCPConnector(ssl=server.trust(), limit=WRITERS + 2),
    ) as opened:
        yield opened


async def send(
    opened: aiohttp.ClientSession, method: str, path: str, body: JsonObject | None = None
) -> JsonObject:
    """Send one request and return what is answered; anything but success is raised."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    sent = json.dumps(body) if body else None
    headers = {"Content-Type": kind}
    async with opened.request(method, path, data=sent, headers=headers) as answer:
        answer.raise_for_status()
        found: JsonObject = await answer.json()
        return found


async def spread(things: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do ``work`` for all ``things``, a few at a time."""

    async def worker(left: Iterator[T]) -> None:
        for thing in left:
            await work(thing)

    shared = iter(things)
    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(worker(shared))
