"""A thousand links that come and go leave a controller as it was."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable

import pytest

from isthmus.kube.transport import Transport
from tests.apps.clusters import (
    EVENTS,
    LINKS,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    kubeconfig,
    link,
    place,
    secret,
    source,
)
from tests.soak.slopes import slope

LINKS_AT_ONCE = 10
ROUNDS = 20
TURNS = 4  # of the way to a target, in each round


@pytest.mark.long
async def test_a_thousand_restarts_of_links_leave_no_task_no_file_and_no_object_behind() -> None:
    east = await source()
    targets = [await _target(east, number) for number in range(LINKS_AT_ONCE)]
    mirrors = sorted(f"web-{one.name}" for one in targets)
    tasks: list[tuple[float, float]] = []
    files: list[tuple[float, float]] = []
    objects: list[tuple[float, float]] = []
    ways = 0

    def counted(way: Transport) -> Transport:
        nonlocal ways
        ways += 1
        return way

    async with controlling(east, targets, around=counted) as running:
        for number in range(ROUNDS):
            for one in targets:
                await east.create(LINKS, link(one.name))
            await _until(lambda: _has(east, mirrors))
            for turn in range(TURNS):
                await _turn(east, targets, "" if turn % 2 else "other-")
            assert await east.mirrors() == mirrors
            running.writes.clear()
            await _forget_events(east)
            restarts = float(number * LINKS_AT_ONCE * (1 + TURNS))
            tasks.append((restarts, len(asyncio.all_tasks())))
            files.append((restarts, len(os.listdir("/proc/self/fd"))))
            objects.append((restarts, _objects(east, *targets)))
            for one in targets:
                await east.delete(LINKS, one.name)
            await _until(lambda: _has_no_links(east))
    assert ways == 1 + ROUNDS * LINKS_AT_ONCE * (1 + TURNS)  # to the source, and of every session
    _does_not_grow(tasks, allowed=1.0)
    _does_not_grow(files, allowed=1.0)
    _does_not_grow(objects, allowed=500.0)


def _does_not_grow(samples: list[tuple[float, float]], allowed: float) -> None:
    found = slope(samples)
    assert not found.is_leak(allowed), samples
    assert not found.is_blind(allowed), samples


async def _target(east: Place, number: int) -> Place:
    """A cluster with one export, and two Secrets with the way to it."""
    made = place(f"t{number}", number + 1)
    await made.create(SERVICES, exported("web"))
    await made.create(SLICES, endpoints("web", "10.2.0.1"))
    for kind in ("", "other-"):
        one = secret(made.name, kubeconfig(made.name, made.cluster.admin_token))
        one["metadata"]["name"] = f"{kind}{one['metadata']['name']}"
        await east.create(PLAIN_SECRETS, one)
    return made


async def _turn(east: Place, targets: list[Place], kind: str) -> None:
    """Give every link another Secret, and thereby another session."""
    for one in targets:
        spec = {"credentialsSecret": f"{kind}cluster-credentials-{one.name}"}
        await east.edit(LINKS, one.name, {"spec": spec})
    await asyncio.sleep(3)


async def _until(is_there: Callable[[], Awaitable[bool]]) -> None:
    """Look once in a second, since looking costs more than waiting."""
    for _ in range(60):
        if await is_there():
            return
        await asyncio.sleep(1)
    raise TimeoutError("not settled within a minute")


async def _has(east: Place, mirrors: list[str]) -> bool:
    return await east.mirrors() == mirrors


async def _has_no_links(east: Place) -> bool:
    return not await east.all(LINKS)


async def _forget_events(east: Place) -> None:
    """A cluster drops them after an hour; this one keeps them."""
    for one in await east.all(EVENTS):
        await east.delete(EVENTS, one["metadata"]["name"])


def _objects(*places: Place) -> int:
    """How many objects there are in this process, but for the history of the clusters."""
    for one in places:
        one.cluster.faults.compact()
    gc.collect()
    return len(gc.get_objects())
