"""What is large is not written again and again while its parts come in one by one."""

import asyncio

import pytest

from isthmus.apps.controller.mirroring.pacing import pause
from isthmus.embedded.faults import effects
from isthmus.kube.transport import Request
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
from tests.apps.test_mirroring import mirror_slices

PODS = [f"db-{number}" for number in range(240)]
ALL = ["db-west", *(f"{pod}-west" for pod in PODS)]


@pytest.mark.parametrize(
    "written, rest",
    [
        pytest.param(0, 0.0, id="nothing"),
        pytest.param(3, 0.0, id="as many as most have"),
        pytest.param(100, 0.0, id="not many yet"),
        pytest.param(200, 0.2, id="many"),
        pytest.param(1000, 1.0, id="a whole slice"),
        pytest.param(10_000, 1.0, id="ten of them"),
    ],
)
def test_a_name_rests_as_long_as_what_it_wrote_was_large_within_reason(
    written: int, rest: float
) -> None:
    assert pause(written) == pytest.approx(rest)


async def large() -> tuple[Place, Place]:
    """A headless Service with many pods, in a cluster that takes a moment for each Service."""
    east, west = await source(), place("west", 1)
    await join(east, west)
    await west.create(SERVICES, exported("db", headless=True))
    await west.create(SLICES, endpoints("db", *PODS))
    east.cluster.faults.add(effects.delayed(0.05), _creates)
    return east, west


async def test_a_large_headless_mirror_is_written_a_few_times_and_is_whole_in_the_end() -> None:
    east, west = await large()
    async with controlling(east, [west]) as running:
        await settled(east, ALL)
        updates = [one for one in running.writes if one.startswith("PUT") and "/db-west-" in one]
        assert len(updates) < 10
        assert await hostnames(east) == sorted(PODS)


async def test_what_happens_while_a_large_mirror_rests_is_carried_out_after_it() -> None:
    east, west = await large()
    async with controlling(east, [west]):
        await settled(east, ALL)
        await shrink(west, 1)
        await asyncio.sleep(0.1)  # less than the rest after that
        await shrink(west, 2)
        await asyncio.sleep(0.05)
        assert await hostnames(east) == sorted(PODS[:-1])
        await asyncio.sleep(0.5)
        assert await hostnames(east) == sorted(PODS[:-2])


async def test_what_others_do_to_a_large_mirror_is_undone_within_a_second_although_it_rests() -> (
    None
):
    east, west = await large()
    async with controlling(east, [west]):
        await settled(east, ALL)
        await shrink(west, 1)
        await asyncio.sleep(0.1)
        (found,) = await mirror_slices(east, "db-west")
        await east.edit(SLICES, found["metadata"]["name"], {"endpoints": []})
        await asyncio.sleep(0.05)
        assert await hostnames(east) == []
        await asyncio.sleep(1)
        assert await hostnames(east) == sorted(PODS[:-1])


async def shrink(west: Place, by: int) -> None:
    left = endpoints("db", *PODS[:-by])
    await west.edit(SLICES, left["metadata"]["name"], {"endpoints": left["endpoints"]})


async def hostnames(east: Place) -> list[str]:
    (found,) = await mirror_slices(east, "db-west")
    return sorted(one["hostname"] for one in found["endpoints"] or ())


def _creates(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/services")
