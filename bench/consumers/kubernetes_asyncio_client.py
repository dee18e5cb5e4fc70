"""``kubernetes_asyncio``: the official client's generated code on aiohttp."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Sized

from kubernetes_asyncio import client, config, watch

from bench.target import Target

PAGE = 500


def listing(target: Target, variant: str) -> Sequence[Sized]:
    return asyncio.run(_listing(target, paged=variant == "paged"))


def watching(target: Target, seen: Callable[[], bool]) -> None:
    asyncio.run(_watching(target, seen))


async def _listing(target: Target, *, paged: bool) -> Sequence[Sized]:
    await config.load_kube_config(target.kubeconfig)
    async with client.ApiClient() as api:
        services = client.CoreV1Api(api).list_service_for_all_namespaces
        slices = client.DiscoveryV1Api(api).list_endpoint_slice_for_all_namespaces
        if paged:
            return [await _pages(services), await _pages(slices)]
        return [(await services()).items, (await slices()).items]


async def _pages(read: Callable[..., Awaitable[client.V1ServiceList]]) -> list[object]:
    found: list[object] = []
    token = ""
    while True:
        page = await read(limit=PAGE, _continue=token) if token else await read(limit=PAGE)
        found += page.items
        token = page.metadata._continue
        if not token:
            return found


async def _watching(target: Target, seen: Callable[[], bool]) -> None:
    await config.load_kube_config(target.kubeconfig)
    async with client.ApiClient() as api, watch.Watch() as stream:
        read = client.CoreV1Api(api).list_service_for_all_namespaces
        async for _ in stream.stream(read, resource_version=target.since):
            if seen():
                return
