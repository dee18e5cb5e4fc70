"""What callers notice of everything that comes, goes and is restarted around them: nothing.

What is ended itself cannot go on; that, and nothing else, may be lost of what is meant to stay.
No request may be lost at all: see :func:`tests.dataplane.loaded.under_load`.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from tests.dataplane.fleet import TIMES, count, fleet, replace, shared, start, stop
from tests.dataplane.joined import Pair
from tests.dataplane.loaded import EAST, OTHERS, scale, under_load, west
from tests.support.machine import pod
from tests.support.waiting import eventually, until

pytestmark = [pytest.mark.sockets, pytest.mark.e2e]


@pytest.fixture(scope="module")
def two(runner: asyncio.Runner) -> Iterator[Pair]:
    with shared(runner, fleet(EAST, west())) as found:
        yield found


async def test_pods_behind_an_export_come_and_go(two: Pair) -> None:
    async with under_load(two) as load:
        await scale(two.west, "web", 5)
        await load.goes_on()
        await scale(two.west, "web", 2)
        (first, *_) = await two.west.kubectl.pods("web")
        await two.west.kubectl.delete("Pod", first.metadata.name)
        await scale(two.west, "web", 3)
        await load.goes_on()
        assert len(load.requests.answers) >= 6  # five pods, and one that was born again
        assert not load.lost


async def test_a_connection_ends_with_its_pod_and_the_others_go_on(two: Pair) -> None:
    async with under_load(two) as load:
        doomed = load.lines.lines[0].pod
        await two.west.kubectl.delete("Pod", doomed)
        await eventually(lambda: all(one.pod != doomed for one in load.lines.open))
        await load.goes_on()
        assert {one.pod for one in load.lost} == {doomed}
        assert load.lines.open


async def test_callers_and_other_exports_come_and_go(two: Pair) -> None:
    names = [f"caller-{number}" for number in range(5)]
    async with under_load(two) as load:
        for name in names:
            await two.east.kubectl.create(pod(name, serviceAccountName="default"))
        for value in ("true", None, "true", None):
            for name in OTHERS:
                await two.west.export(name, value)
            for name in OTHERS:
                read = partial(two.east.kubectl.slices, f"{name}-west")
                await until(read, lambda found: bool(found) == bool(value))  # noqa: B023 read at once
        for name in names:
            await two.east.kubectl.delete("Pod", name)
        await load.goes_on()
        assert not load.lost


async def test_controllers_are_replaced_also_while_their_clusters_api_is_away(two: Pair) -> None:
    async with under_load(two) as load:
        for side, is_away in ((two.east, False), (two.west, True), (two.east, True)):
            if is_away:
                side.cluster.faults.stop()
            (replica,) = side.replicas
            await replica.end()
            await load.goes_on()
            await replica.begin()
            await load.goes_on()
            side.cluster.faults.start()
        await scale(two.west, "web", 4)
        await load.reaches_another_pod()
        await scale(two.west, "web", 3)
        assert not load.lost


@pytest.mark.parametrize(
    "role, lines, feed",
    [
        pytest.param(
            "gateway",
            "envoy_cluster_upstream_cx_active",
            "envoy_cluster_upstream_rq_active",
            id="gateway",
        ),
        pytest.param(
            "egress",
            "envoy_tcp_downstream_cx_total",
            "envoy_http_downstream_rq_active",
            id="egress",
        ),
    ],
)
async def test_proxies_are_replaced(two: Pair, role: str, lines: str, feed: str) -> None:
    """Requests move on. What is meant to stay goes on until its own proxy's time is over."""
    clock = asyncio.get_running_loop().time
    side, suffix = (two.west, "") if role == "gateway" else (two.east, "-west")
    await replace(side, role, f"isthmus-{role}", f"{role}-1")
    await start(side, role, f"{role}-2")
    await two.east.kubectl.until_served("lines-west", 1 if role == "gateway" else 2)
    async with under_load(two) as load:
        carried = {
            name: await count(side, name, lines, service=f"lines{suffix}")
            + await count(side, name, feed, service=f"feed{suffix}")
            for name in (f"{role}-1", f"{role}-2")
        }
        assert sum(carried.values()) == len(load.lines.open) + len(load.downloads.open)
        ended, _ = sorted(carried.items(), key=lambda found: (found[1] == 0, found[1]))[0]
        ending = clock()
        await stop(side, ended)
        await load.goes_on()
        assert len(load.lost) == carried[ended] > 0
        assert all(one.ended - ending > TIMES.drain * 0.9 for one in load.lost)
