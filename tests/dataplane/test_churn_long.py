"""Everything that comes, goes and is restarted, at the same time and for longer."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from itertools import count
from random import Random

import pytest

from tests.dataplane.fleet import fleet, replace, start
from tests.dataplane.joined import Pair, Side
from tests.dataplane.load import running
from tests.dataplane.loaded import EAST, OTHERS, scale, under_load, west
from tests.dataplane.workloads import Times
from tests.support.machine import pod

pytestmark = [pytest.mark.sockets, pytest.mark.e2e]

SECONDS = 40.0
# What a pod and a proxy have to give others to hear that they end: a controller that leads may be
# replaced just then, and the next one leads after some seconds.
GRACE, TIMES = 6, Times(drain=8, linger=6)


async def pauses(random: Random, longest: float) -> AsyncIterator[int]:
    for number in count():
        await asyncio.sleep(random.uniform(0, longest))
        yield number


async def pods(two: Pair, random: Random) -> None:
    async for _ in pauses(random, 2):
        await scale(two.west, "web", random.randint(2, 6))
        (first, *_others) = await two.west.kubectl.pods("web")
        await two.west.kubectl.delete("Pod", first.metadata.name)


async def exports(two: Pair, random: Random) -> None:
    async for _ in pauses(random, 0.3):
        await two.west.export(random.choice(OTHERS), random.choice(["true", None]))


async def callers(two: Pair, random: Random) -> None:
    async for number in pauses(random, 1):
        name = f"caller-{number}"
        await two.east.kubectl.create(pod(name, serviceAccountName="default"))
        await two.east.kubectl.until_ready(name, app=name)
        await two.east.kubectl.delete("Pod", name)


async def controllers(two: Pair, random: Random) -> None:
    """End one of a cluster's two controllers: the other one tells the proxies and leads."""
    async for _ in pauses(random, 6):
        replica = random.choice(random.choice((two.east, two.west)).replicas)
        await replica.end()
        await asyncio.sleep(random.uniform(0, 2))
        await replica.begin()


async def proxies(side: Side, role: str) -> None:
    """Replace the older one of two, without a pause."""
    names = deque(f"{role}-{number}" for number in range(2))
    for number in count(len(names)):
        names.append(f"{role}-{number}")
        await replace(side, role, names.popleft(), names[-1], TIMES)


async def doubled(two: Pair) -> None:
    """Have two of everything, that take their time to end."""
    for side, role in ((two.west, "gateway"), (two.east, "egress")):
        await replace(side, role, f"isthmus-{role}", f"{role}-0", TIMES)
        await start(side, role, f"{role}-1", TIMES)
    for side in (two.west, two.east):
        await start(side, "controller", "controller-1")


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_request_fails_whatever_happens_at_the_same_time(seed: int) -> None:
    def chance() -> Random:
        return Random(f"{seed}")

    async with fleet(EAST, west(grace=GRACE)) as two:
        await doubled(two)
        async with under_load(two) as load:
            trouble: list[Coroutine[None, None, None]] = [
                *(part(two, chance()) for part in (pods, exports, callers, controllers)),
                proxies(two.west, "gateway"),
                proxies(two.east, "egress"),
            ]
            async with running(*trouble):
                await load.goes_on(SECONDS)
