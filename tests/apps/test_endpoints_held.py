"""One list of EndpointSlices that is wrongly empty takes no endpoint away; two are believed."""

import asyncio
from collections.abc import Callable

import pytest

from isthmus.embedded.faults import effects
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    join,
    place,
    settled,
    source,
)
from tests.apps.test_mirroring import mirror_slices, mirror_writes, readiness, streams, watches

ALL = ["db-0-west", "db-1-west", "db-west", "web-0-west", "web-1-west"]


def lists_slices(request: Request) -> bool:
    return request.path.endswith("/endpointslices") and not watches(request)


async def small_shop() -> tuple[Place, Place]:
    """Two Services and a headless set of two pods, all ready."""
    east, west = await source(), place("west", 1)
    await join(east, west)
    for name in ("web-0", "web-1"):
        await west.create(SERVICES, exported(name))
        await west.create(SLICES, endpoints(name, "10.2.0.1"))
    await west.create(SERVICES, exported("db", headless=True))
    await west.create(SLICES, endpoints("db", "db-0", "db-1"))
    return east, west


async def hostnames(east: Place) -> list[str]:
    return [
        one["hostname"]
        for each in await mirror_slices(east, "db-west")
        for one in each["endpoints"] or ()
    ]


def lie(west: Place, about: Callable[[Request], bool] = lists_slices) -> None:
    """Let the target's API server list no slices from now on."""
    faults = west.cluster.faults
    faults.add(effects.failing(400), streams)
    faults.add(effects.empty_list(), about)
    faults.add(effects.failing(410), watches, times=2)
    faults.disconnect()


async def test_an_empty_list_of_slices_takes_no_endpoint_away() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]) as running:
        await settled(east, ALL)
        running.writes.clear()
        lie(west)
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        assert await east.condition("EndpointsHeld") == ("True", "MassLoss")
        assert await east.condition("Ready") == ("False", "EndpointsHeld")
        west.cluster.faults.clear()
        await asyncio.sleep(700)
        assert mirror_writes(running.writes) == []
        assert await east.condition("EndpointsHeld") == ("", "")
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_restart_meets_an_empty_list_of_slices_and_changes_nothing() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
    lie(west)
    async with controlling(east, [west], seed=2) as running:
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        assert (await east.condition("EndpointsHeld"))[0] == "True"


async def test_of_lists_without_anything_nothing_is_believed_when_one_thing_is_seen_again() -> None:
    """Neither that the others are gone, few as they are, nor that this one has no endpoints."""
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
        lie(west, about=lambda request: not watches(request))
        await asyncio.sleep(60)
        assert (await east.condition("DeletionHeld"))[0] == "True"
        await west.edit(SERVICES, "web-0", {"spec": {"ports": [{"name": "http", "port": 81}]}})
        await asyncio.sleep(60)
        mirror = await east.get(SERVICES, "web-0-west")
        assert mirror is not None
        assert [one["port"] for one in mirror["spec"]["ports"]] == [81]
        assert await east.mirrors() == ALL
        assert await readiness(east, "web-0-west") == [True, True]


async def test_what_is_new_while_endpoints_are_held_is_mirrored_and_a_watch_is_believed() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
        lie(west)
        await asyncio.sleep(60)
        await west.create(SERVICES, exported("late"))
        await west.create(SLICES, endpoints("late", "10.2.0.1"))
        await settled(east, [*ALL, "late-west"])
        assert await readiness(east, "late-west") == [True, True]
        await west.edit(SLICES, "db-abcde", {"endpoints": endpoints("db", "db-0")["endpoints"]})
        await settled(east, [*(one for one in ALL if one != "db-1-west"), "late-west"])
        assert await hostnames(east) == ["db-0"]


async def test_a_list_without_any_slice_is_not_believed_however_few_would_go_dark_by_it() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
        # One that is dark already, but could not be told so, makes the others not all there are.
        east.cluster.faults.add(
            effects.failing(500), lambda one: one.path.endswith("/web-0-west-ipv4")
        )
        await west.edit(SLICES, "web-0-abcde", {"endpoints": []})
        await asyncio.sleep(5)
        lie(west)
        await asyncio.sleep(60)
        assert await readiness(east, "web-1-west") == [True, True]
        assert await hostnames(east) == ["db-0", "db-1"]


async def everything_unready(west: Place) -> None:
    for name in ("web-0", "web-1", "db"):
        await west.edit(SLICES, f"{name}-abcde", {"endpoints": []})


async def test_a_true_loss_of_all_endpoints_is_confirmed_within_seconds() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
    await everything_unready(west)
    async with controlling(east, [west], seed=2):
        await asyncio.sleep(0.9)
        assert await readiness(east, "web-0-west") == [True, True]
        assert await hostnames(east) == ["db-0", "db-1"]
        await asyncio.sleep(5)
        assert await readiness(east, "web-0-west") == [False, False]
        await settled(east, ["db-west", "web-0-west", "web-1-west"])
        assert await east.condition("EndpointsHeld") == ("", "")
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_loss_that_a_watch_tells_of_is_followed_at_once() -> None:
    east, west = await small_shop()
    async with controlling(east, [west]):
        await settled(east, ALL)
        await everything_unready(west)
        await asyncio.sleep(0.5)
        assert await readiness(east, "web-0-west") == [False, False]
        assert await hostnames(east) == []


@pytest.mark.parametrize("kept", [3, 8])
async def test_a_list_that_lacks_many_slices_is_held_and_one_that_lacks_few_is_not(
    kept: int,
) -> None:
    east, west = await source(), place("west", 1)
    await join(east, west)
    names = [f"web-{number}" for number in range(10)]
    for name in names:
        await west.create(SERVICES, exported(name))
        await west.create(SLICES, endpoints(name, "10.2.0.1"))

    def shrink(found: JsonObject) -> None:
        theirs = [one for one in found["items"] if one["metadata"]["name"].startswith("web-")]
        found["items"] = theirs[:kept]

    async with controlling(east, [west]) as running:
        await settled(east, [f"{name}-west" for name in names])
        running.writes.clear()
        faults = west.cluster.faults
        faults.add(effects.failing(400), streams)
        faults.add(effects.listing(shrink), lists_slices, times=1)
        faults.add(effects.failing(410), watches, times=2)
        faults.disconnect()
        await asyncio.sleep(60)
        assert len(mirror_writes(running.writes)) == (2 if kept == 8 else 0)
        await asyncio.sleep(800)  # the next complete list is right
        assert await readiness(east, "web-9-west") == [True, True]
