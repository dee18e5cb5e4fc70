"""Two gateways of west and two egresses of east, ended and replaced one after another."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from itertools import product
from typing import NamedTuple, TypeVar

import aiohttp

from isthmus.embedded.machine.objects import PODS
from isthmus.kube.requests import Selection
from isthmus.kube.resources import SERVICES
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.dataplane.joined import LINKS, Pair, Side, pair
from tests.dataplane.workloads import SYSTEM, Times, create, pod
from tests.support.waiting import until

T = TypeVar("T")

_SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


TIMES = Times(drain=2.0, linger=1.5)


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


async def start(side: Side, role: str, name: str, times: Times = TIMES) -> None:
    """Start one of our workloads beside others of its role, and wait until it is ready."""
    await create(side.client, [pod(side.cluster, f"isthmus-{role}", name, times)])

    async def ready() -> bool:
        return (await side.client.get(PODS, Key(SYSTEM, name))).is_ready

    await until(ready, bool, within=40)


async def stop(side: Side, name: str) -> None:
    """End a proxy as Kubernetes does, and wait until it is gone."""
    await side.client.delete(PODS, Key(SYSTEM, name))

    async def names() -> set[str]:
        found = await side.client.list(PODS, Selection(namespace=SYSTEM))
        return {one.metadata.name for one in found.objects}

    await until(names, lambda found: name not in found, within=40)


async def replace(side: Side, role: str, old: str, new: str, times: Times = TIMES) -> None:
    """Let a proxy take another one's place, as a rollout does it."""
    await start(side, role, new, times)
    await stop(side, old)


async def listens(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.transport.abort()
    return True


async def served(side: Side, *mirrors: str) -> None:
    """Wait until every egress listens for every port of these mirrors."""
    for name in mirrors:
        await until(partial(side.kubectl.slices, name), bool, within=20)
        for one in await side.kubectl.slices(name):
            for endpoint, port in product(one.endpoints, one.ports):
                await until(partial(listens, endpoint.addresses[0], port.port or 0), bool)


async def metrics(side: Side, pod: str) -> list[Sample]:
    """Return all that a proxy has counted, as whoever scrapes it sees it."""
    address = side.machine.pod(pod, SYSTEM).status.pod_ip
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}:9991/stats/prometheus") as answer,
    ):
        text = await answer.text()
    return [
        Sample(name, dict(_LABEL.findall(labels)), float(value))
        for name, labels, value in _SAMPLE.findall(text)
    ]


async def count(side: Side, pod: str, name: str, **labels: str) -> float:
    """Return what a proxy has counted under a name and these labels."""
    wanted = {f"isthmus_{label}": value for label, value in labels.items()}
    return sum(
        one.value
        for one in await metrics(side, pod)
        if one.name == name and wanted.items() <= one.labels.items()
    )


@asynccontextmanager
async def fleet(east: tuple[JsonObject, ...], west: tuple[JsonObject, ...]) -> AsyncIterator[Pair]:
    """East and west, joined by way of the one address that west's gateways share."""
    async with pair(east=east, west=west) as two:
        service = await two.west.client.get(SERVICES, Key(SYSTEM, "isthmus-gateway"))
        spec = {"gateway": {"addresses": [service.spec.cluster_ip]}}
        await two.east.client.merge_patch(LINKS, Key("", "west"), {"spec": spec})
        yield two


@contextmanager
def shared(runner: asyncio.Runner, made: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Hold a context open for many runs of one loop, entered and left by the same task."""
    end = asyncio.Event()

    async def begin() -> tuple[T, "asyncio.Task[None]"]:
        ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with made as value:
                ready.set_result(value)
                await end.wait()

        holding = asyncio.create_task(hold())
        holding.add_done_callback(lambda _: ready.done() or ready.cancel())
        try:
            return await ready, holding
        except asyncio.CancelledError:
            await holding  # says why
            raise

    async def finish() -> None:
        end.set()
        await holding

    value, holding = runner.run(begin())
    try:
        yield value
    finally:
        runner.run(finish())
