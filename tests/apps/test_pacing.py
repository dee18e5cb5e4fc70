"""What is large is not written again and again while its parts come in one by one."""

import asyncio

import pytest

from isthmus.apps.controller.mirroring.pacing import Pacing
from isthmus.embedded.faults import effects
from isthmus.kube.transport import Request
from isthmus.model.objects import Key
from tests.apps.clusters import (
    SERVICES,
    SLICES,
    VirtualClock,
    controlling,
    endpoints,
    exported,
    join,
    place,
    settled,
    source,
)
from tests.apps.test_mirroring import mirror_slices

NAME, OTHER = Key("shop", "db-west"), Key("shop", "web-west")


@pytest.mark.parametrize(
    "endpoints, rest",
    [
        pytest.param(0, 0.0, id="nothing"),
        pytest.param(3, 0.0, id="as many as most have"),
        pytest.param(100, 0.0, id="not many yet"),
        pytest.param(200, 0.2, id="many"),
        pytest.param(1000, 1.0, id="a whole slice"),
    ],
)
async def test_a_name_rests_as_long_as_what_it_wrote_was_large(endpoints: int, rest: float) -> None:
    pacing = Pacing(VirtualClock())
    pacing.wrote(NAME, endpoints)
    assert pacing.left(NAME) == pytest.approx(rest)
    assert pacing.left(OTHER) == 0
    await asyncio.sleep(rest)
    assert pacing.left(NAME) == 0


async def test_a_large_headless_mirror_is_written_a_few_times_and_is_whole_in_the_end() -> None:
    pods = [f"db-{number}" for number in range(240)]
    east, west = await source(), place("west", 1)
    await join(east, west)
    await west.create(SERVICES, exported("db", headless=True))
    await west.create(SLICES, endpoints("db", *pods))
    east.cluster.faults.add(effects.delayed(0.05), _creates)
    async with controlling(east, [west]) as running:
        await settled(east, ["db-west", *(f"{pod}-west" for pod in pods)])
        updates = [one for one in running.writes if one.startswith("PUT") and "/db-west-" in one]
        assert len(updates) < 10
        (found,) = await mirror_slices(east, "db-west")
        assert sorted(one["hostname"] for one in found["endpoints"]) == sorted(pods)


def _creates(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/services")
