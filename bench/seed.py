"""Fills a cluster, and gives it a history to replay.

Written with bare requests, so that nothing measured afterwards has warmed up here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import aiohttp

from bench.population import NAMESPACES, endpoint_slice, namespace, service
from bench.progress import Progress
from bench.target import Target
from isthmus.model.wire import JsonObject

WRITERS = 16


async def fill(target: Target) -> None:
    """Create the namespaces, ``target.objects`` Services and a slice for each."""
    async with _session(target) as session:
        for number in range(NAMESPACES):
            name = {"metadata": {"name": namespace(number)}}
            await _send(session, "POST", "/api/v1/namespaces", name)
        progress = Progress("Services and slices", target.objects)

        async def create(number: int) -> None:
            inside = f"namespaces/{namespace(number)}"
            made = await _send(session, "POST", f"/api/v1/{inside}/services", service(number))
            written = endpoint_slice(number, made["metadata"]["uid"])
            await _send(
                session, "POST", f"/apis/discovery.k8s.io/v1/{inside}/endpointslices", written
            )
            progress.step()

        await _spread(target.objects, create)


async def update(target: Target) -> str:
    """Change Services ``target.events`` times; return the version before the first change."""
    async with _session(target) as session:
        before = await _send(session, "GET", "/api/v1/services?limit=1", {})
        progress = Progress("updates", target.events)

        async def change(number: int) -> None:
            changed = number % target.objects
            name = service(changed)["metadata"]["name"]
            patch = {"metadata": {"annotations": {"example.com/revision": str(number)}}}
            path = f"/api/v1/namespaces/{namespace(changed)}/services/{name}"
            await _send(session, "PATCH", path, patch)
            progress.step()

        await _spread(target.events, change)
    return str(before["metadata"]["resourceVersion"])


async def _spread(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Do ``work`` for every number below ``count``, a few at a time."""
    numbers = iter(range(count))

    async def worker(numbers: Iterator[int]) -> None:
        for number in numbers:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(worker(numbers))


@asynccontextmanager
async def _session(target: Target) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        target.url,
        headers=target.headers,
        connector=aiohttp.TCPConnector(ssl=target.trust(), limit=WRITERS),
    ) as session:
        yield session


async def _send(
    session: aiohttp.ClientSession, method: str, path: str, body: JsonObject
) -> JsonObject:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    sent = json.dumps(body) if body else None
    headers = {"Content-Type": kind}
    async with session.request(method, path, data=sent, headers=headers) as answer:
        answer.raise_for_status()
        found: JsonObject = await answer.json()
        return found
