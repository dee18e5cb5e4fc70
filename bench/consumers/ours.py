"""Isthmus' own edge, used as the controller uses it: reflected into a cache."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence, Sized
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from msgspec.structs import replace

from bench.target import Target
from isthmus.kube import kubeconfig
from isthmus.kube.client import Client
from isthmus.kube.codec import Page, key_of
from isthmus.kube.exchange import Limits
from isthmus.kube.http import HttpTransport
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.objects import Key, Service
from isthmus.runtime.cache import Cache, Event
from isthmus.runtime.clock import SystemClock

T = TypeVar("T")


def listing(target: Target, variant: str) -> Sequence[Sized]:
    return asyncio.run(_listing(target, variant))


def watching(target: Target, seen: Callable[[], bool]) -> None:
    asyncio.run(_watching(target, seen))


async def _listing(target: Target, variant: str) -> Sequence[Sized]:
    limits = Limits(page=0) if variant == "whole" else Limits()
    async with _client(target, limits, plain=variant == "plain") as client:
        if variant == "list":
            return [
                (await client.list(SERVICES)).objects,
                (await client.list(ENDPOINT_SLICES)).objects,
            ]
        streaming = variant == "streamed"
        return [
            await _snapshot(Source(client, SERVICES), streaming=streaming),
            await _snapshot(Source(client, ENDPOINT_SLICES), streaming=streaming),
        ]


async def _snapshot(source: Source[T], *, streaming: bool) -> "Kept[T]":
    reflector = Reflector[T](Random(), streaming=streaming)
    cache = Cache[Key, T](key_of)

    def take(event: Event[Key, T]) -> bool:
        cache.fold(event)
        return cache.synced

    await _until(source, reflector, take)
    return Kept(reflector, cache)


async def _watching(target: Target, seen: Callable[[], bool]) -> None:
    async with _client(target, Limits()) as client:
        reflector = Reflector[Service](Random())
        # As if a list had just been read, so that the watch begins where that list was made.
        reflector.listed(Page((), (), target.since), SystemClock().now())
        cache = Cache[Key, Service](key_of)

        def take(event: Event[Key, Service]) -> bool:
            cache.fold(event)
            return seen()

        await _until(Source(client, SERVICES), reflector, take)


async def _until(
    source: Source[T], reflector: Reflector[T], take: Callable[[Event[Key, T]], bool]
) -> None:
    """Reflect until ``take`` has had enough."""
    enough = asyncio.Event()

    def emit(event: Event[Key, T]) -> None:
        if take(event):
            enough.set()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(reflect(source, reflector, emit))
        await enough.wait()
        running.cancel()


class Kept(Generic[T]):
    """A cache with the reflector behind it: both stay in memory, hence both are measured."""

    def __init__(self, reflector: Reflector[T], cache: Cache[Key, T]) -> None:
        self._reflector = reflector
        self._cache = cache

    def __len__(self) -> int:
        return len(self._cache.objects)


@asynccontextmanager
async def _client(target: Target, limits: Limits, *, plain: bool = False) -> AsyncIterator[Client]:
    access = kubeconfig.load([Path(target.kubeconfig)], SystemClock())
    transport: Transport = HttpTransport(access.server)
    client = Client(Uncompressed(transport) if plain else transport, access.credentials, limits)
    try:
        yield client
    finally:
        await client.close()


class Uncompressed:
    """A transport that asks for bodies as they are, to see what compression is worth."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        headers = {**request.headers, "Accept-Encoding": "identity"}
        return self._inner.send(replace(request, headers=headers))

    async def close(self) -> None:
        await self._inner.close()
