"""A link that is dead or hostile harms nobody else."""

import asyncio
from collections.abc import Callable

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from tests.apps.clusters import LINKS, SERVICES, Place, controlling, exported, join, place, source
from tests.support.waiting import until

GOOD, BAD, SERVICES_EACH = 40, 10, 3


def dead(cluster: Cluster) -> None:
    cluster.faults.stop()


def hanging(cluster: Cluster) -> None:
    cluster.faults.add(effects.hanging(cluster.faults))


def failing(cluster: Cluster) -> None:
    cluster.faults.add(effects.failing(500))


def unauthorized(cluster: Cluster) -> None:
    cluster.faults.add(effects.failing(401))


def forbidden(cluster: Cluster) -> None:
    cluster.faults.add(effects.failing(403))


def garbage(cluster: Cluster) -> None:
    cluster.faults.add(effects.answering(b"\x00\xff{[" * 1000, content_type="application/json"))


def captive(cluster: Cluster) -> None:
    cluster.faults.add(effects.answering())


def throttling(cluster: Cluster) -> None:
    cluster.faults.add(effects.failing(429, retry_after=1))


def empty(cluster: Cluster) -> None:
    cluster.faults.add(effects.failing(400), lambda request: "sendInitialEvents" in str(request))
    cluster.faults.add(effects.null_items())


def cutting(cluster: Cluster) -> None:
    cluster.faults.add(effects.cut(100))


HOSTILE: tuple[Callable[[Cluster], None], ...] = (
    dead,
    hanging,
    failing,
    unauthorized,
    forbidden,
    garbage,
    captive,
    throttling,
    empty,
    cutting,
)


async def target(number: int) -> Place:
    west = place(f"west-{number}", number + 1)
    for index in range(SERVICES_EACH):
        await west.create(SERVICES, exported(f"web-{index}"))
    return west


async def converged_after(bad: int) -> float:
    """Return how long it takes the good links to converge, beside so many bad ones."""
    east = await source()
    targets = [await target(number) for number in range(GOOD + bad)]
    for spoil, one in zip(HOSTILE, targets[GOOD:], strict=False):
        spoil(one.cluster)
    await join(east, *targets)
    clock = asyncio.get_running_loop().time
    began = clock()
    async with controlling(east, targets) as running:
        await until(east.mirrors, lambda found: len(found) == GOOD * SERVICES_EACH, within=60)
        took = clock() - began
        await asyncio.sleep(120)
        assert len(await east.mirrors()) == GOOD * SERVICES_EACH
        assert running.controller.state.synced
        for one in targets:
            ready = await east.condition("Connected", one.cluster.name)
            assert ready[0] == ("True" if one in targets[:GOOD] else "False"), ready
    return took


async def test_forty_links_converge_beside_ten_bad_ones_as_fast_as_alone() -> None:
    alone = await converged_after(0)
    assert await converged_after(BAD) <= alone + 0.5


async def test_of_more_links_than_there_are_files_for_the_oldest_are_read() -> None:
    east = await source()
    targets = [await target(number) for number in range(3)]
    for one in targets:
        await join(east, one)
        await asyncio.sleep(1)  # so that each has an age of its own
    async with controlling(east, targets, berths=2):
        await until(east.mirrors, lambda found: len(found) == 2 * SERVICES_EACH, within=60)
        await asyncio.sleep(60)
        assert await east.condition("Connected", "west-2") == ("False", "NoFilesLeft")
        assert await east.condition("Connected", "west-0") == ("True", "Connected")
        await east.delete(LINKS, "west-0")
        await until(
            lambda: east.condition("Connected", "west-2"),
            lambda found: found == ("True", "Connected"),
            within=60,
        )
        await until(east.mirrors, lambda found: len(found) == 2 * SERVICES_EACH, within=60)
