"""``kr8s``: kubectl-like, objects as attribute dictionaries."""

import asyncio
from collections.abc import Callable, Sequence, Sized

import kr8s.asyncio

from bench.target import Target


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    return asyncio.run(_listing(target))


def watching(target: Target, seen: Callable[[], bool]) -> None:
    asyncio.run(_watching(target, seen))


async def _listing(target: Target) -> Sequence[Sized]:
    api = await kr8s.asyncio.api(kubeconfig=target.kubeconfig)
    return [
        [item async for item in api.get(kind, namespace=kr8s.ALL)]
        for kind in ("services", "endpointslices.discovery.k8s.io")
    ]


async def _watching(target: Target, seen: Callable[[], bool]) -> None:
    api = await kr8s.asyncio.api(kubeconfig=target.kubeconfig)
    async for _ in api.watch("services", namespace=kr8s.ALL, since=target.since):
        if seen():
            return
