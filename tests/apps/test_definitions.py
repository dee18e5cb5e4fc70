"""A controller whose kinds are missing, older or newer than it: it waits, and writes no more."""

import asyncio
from copy import deepcopy

import pytest

from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    PLAIN_DEFINITIONS,
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    controlling,
    egress_slice,
    exported,
    join,
    place,
    settled,
)
from tests.apps.test_mirroring import mirrored, pair, web
from tests.support.definitions import PLURALS, definition

TEN_MINUTES = 600.0


async def bare() -> Place:
    """A cluster in which a controller was started before anybody defined our kinds."""
    east = place("east")
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "isthmus"}})
    await east.create(SLICES, egress_slice("10.1.0.7"))
    return east


async def target(*services: JsonObject) -> Place:
    west = place("west", 1)
    for one in services:
        await west.create(SERVICES, one)
    return west


async def test_a_controller_waits_for_its_kinds_and_begins_when_they_come() -> None:
    east, west = await bare(), await target(*web(3))
    async with controlling(east, [west]) as running:
        await asyncio.sleep(TEN_MINUTES)
        assert running.writes == []
        assert not running.task.done()
        for plural in PLURALS:
            await east.create(PLAIN_DEFINITIONS, definition(plural))
        await join(east, west)
        await settled(east, mirrored(3), within=120)


async def test_kinds_that_are_taken_away_take_no_mirror_along() -> None:
    """Whoever deletes a definition deletes its Links; a controller that cannot list them any more
    has seen no Link go."""
    east, west = await pair(*web(3))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))

        def is_about_links(request: Request) -> bool:
            return "/links" in request.path

        east.cluster.faults.add(effects.failing(404), is_about_links)
        await asyncio.sleep(2 * TEN_MINUTES)  # the server ends every watch within five minutes
        assert await east.mirrors() == mirrored(3)
        assert not running.task.done()


def older() -> JsonObject:
    """The definition of Links as an earlier version may have had it: with a smaller status."""
    found = deepcopy(definition("links"))
    (version,) = found["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    for name in ("refused", "refusedCount", "staleSince", "mirrors"):
        status["properties"].pop(name, None)
    return found


async def test_a_definition_that_knows_less_costs_no_writes_for_what_it_forgets() -> None:
    east, west = await bare(), await target(*web(3))
    await east.create(PLAIN_DEFINITIONS, older())
    await east.create(PLAIN_DEFINITIONS, definition("grants"))
    await join(east, west)
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3), within=120)
        await asyncio.sleep(60)
        running.writes.clear()
        await asyncio.sleep(TEN_MINUTES)
        assert len([one for one in running.writes if "/links/" in one]) <= 12


async def test_a_link_with_fields_of_a_later_version_is_read_for_what_we_know() -> None:
    found = deepcopy(definition("links"))
    (version,) = found["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["later"] = {
        "type": "string"
    }
    east, west = await bare(), await target(*web(3))
    await east.create(PLAIN_DEFINITIONS, found)
    await east.create(PLAIN_DEFINITIONS, definition("grants"))
    await join(east, west, later="x")
    async with controlling(east, [west]):
        await settled(east, mirrored(3), within=120)
    assert (await east.link())["spec"]["later"] == "x"


@pytest.mark.parametrize(
    "effect",
    [
        pytest.param(effects.failing(409), id="somebody else was faster"),
        pytest.param(effects.failing(404), id="it is gone"),
        pytest.param(effects.failing(422), id="it is refused"),
    ],
)
async def test_a_status_that_cannot_be_written_is_tried_again_and_holds_nothing_up(
    effect: Effect,
) -> None:
    """Apart from the first one, which records whose cluster it is before anything is believed."""
    east, west = await pair(*web(3))

    def is_status(request: Request) -> bool:
        return request.method != "GET" and request.path.endswith("/links/west/status")

    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))
        east.cluster.faults.add(effect, is_status)
        await west.create(SERVICES, exported("web-3"))
        await settled(east, mirrored(4))
        running.writes.clear()
        await asyncio.sleep(TEN_MINUTES)
        assert len(running.writes) <= 60
        east.cluster.faults.clear()
        await asyncio.sleep(120)
        assert (await east.link())["status"]["mirrors"] == 4
        assert await east.condition("Ready") == ("True", "Ready")
