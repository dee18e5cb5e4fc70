"""``kopf``: an operator framework; its event handlers see every object once at the start.

It cannot begin a watch at a given resource version, hence offers no ``watching``.
"""

import asyncio
from collections.abc import Sequence, Sized

import kopf

from bench.target import Target


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    return asyncio.run(_listing(target))


async def _listing(target: Target) -> Sequence[Sized]:
    services: dict[str, object] = {}
    slices: dict[str, object] = {}
    done = asyncio.Event()
    registry = kopf.OperatorRegistry()

    def login(**_: object) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(
            server=target.url, ca_path=target.ca_file, scheme="Bearer", token=target.token
        )

    async def on_service(uid: str, body: object, **_: object) -> None:
        services[uid] = body
        complete()

    async def on_slice(uid: str, body: object, **_: object) -> None:
        slices[uid] = body
        complete()

    def complete() -> None:
        if min(len(services), len(slices)) >= target.objects:
            done.set()

    kopf.on.login(registry=registry)(login)
    kopf.on.event("services", registry=registry)(on_service)
    kopf.on.event("endpointslices.discovery.k8s.io", registry=registry)(on_slice)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    await kopf.operator(
        registry=registry, settings=settings, clusterwide=True, standalone=True, stop_flag=done
    )
    return [list(services.values()), list(slices.values())]
