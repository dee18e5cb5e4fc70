"""``lightkube``: typed dataclasses, filled only when a field is read (its default)."""

import asyncio
from collections.abc import Callable, Sequence, Sized

from lightkube import AsyncClient, KubeConfig
from lightkube.resources.core_v1 import Service
from lightkube.resources.discovery_v1 import EndpointSlice

from bench.target import Target


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    return asyncio.run(_listing(target))


def watching(target: Target, seen: Callable[[], bool]) -> None:
    asyncio.run(_watching(target, seen))


async def _listing(target: Target) -> Sequence[Sized]:
    client = AsyncClient(config=KubeConfig.from_file(target.kubeconfig))
    found = [
        [item async for item in client.list(kind, namespace="*")]
        for kind in (Service, EndpointSlice)
    ]
    await client.close()
    return found


async def _watching(target: Target, seen: Callable[[], bool]) -> None:
    client = AsyncClient(config=KubeConfig.from_file(target.kubeconfig))
    events = client.watch(Service, namespace="*", resource_version=target.since)
    async for _ in events:
        if seen():
            break
    await client.close()
