"""A rotation whose driver is killed wherever it waits goes on, and nobody is cut off meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from isthmus.apps.rotation.planning import CannotRotate
from isthmus.embedded.state.store import Key
from isthmus.model.names import ISSUER, TRUST, TRUST_ROTATION, TRUST_SEEN
from isthmus.model.wire import JsonObject
from isthmus.pki.keys import Pair
from tests.apps.rotation.mesh import NEW, OLD, Mesh, mesh, prints
from tests.crash.dying import FULLY, Life, Moment
from tests.crash.portrait import strangers

PROMPT = 5.0  # seconds; slow members are for the tests of rotation itself
HOUR = 3600.0
ABOUT_TRUST = frozenset({ISSUER, TRUST, TRUST_ROTATION, TRUST_SEEN})

State = Callable[[], AbstractAsyncContextManager[tuple[Mesh, Pair]]]


@asynccontextmanager
async def not_begun() -> AsyncIterator[tuple[Mesh, Pair]]:
    async with mesh("east", "west", slowest=PROMPT) as here:
        yield here, NEW


@asynccontextmanager
async def half_way() -> AsyncIterator[tuple[Mesh, Pair]]:
    """East has an issuer below the new anchor, and whoever made it is gone."""
    async with not_begun() as (here, _):
        task = asyncio.create_task(here.run())
        await here.heard("reissue: east has")
        for wire in here.wires.values():
            wire.cut()
        task.cancel()
        await asyncio.wait({task})
        yield here, NEW


@asynccontextmanager
async def to_be_rolled_back() -> AsyncIterator[tuple[Mesh, Pair]]:
    async with half_way() as (here, _):
        yield here, OLD


async def driven(here: Mesh, goal: Pair, life: Life) -> None:
    """Drive until all is done, or until the driver dies."""
    here.around = life.around
    async with asyncio.timeout(HOUR):
        is_done = await life.lives(here.run(goal))
    assert is_done or life.died.is_set()


# Whoever is killed half way was half way: the second state is the first one, killed twice.
STATES = (not_begun, half_way, to_be_rolled_back) if FULLY else (not_begun, to_be_rolled_back)


@pytest.mark.long
@pytest.mark.parametrize("state", STATES, ids=lambda one: one.__name__.replace("_", " "))
async def test_a_driver_killed_wherever_it_waits_is_followed_by_the_same_end(state: State) -> None:
    async with state() as (here, goal):
        whole = Life()
        await driven(here, goal, whole)
    moments = list(whole.moments(many_at_once=False))
    assert len(moments) >= 8  # a rotation that is rolled back writes four times
    for moment in moments:
        async with state() as (here, goal):
            await _goes_on(here, goal, moment)


async def _goes_on(here: Mesh, goal: Pair, moment: Moment) -> None:
    victim = Life(moment)
    untouched = _others(here)
    await driven(here, goal, victim)
    assert victim.died.is_set(), moment
    if goal is NEW or await here.kept() is not None:  # else there is nothing to roll back
        await driven(here, goal, Life())
    assert await here.state() == {(prints(goal), prints(goal))}, moment
    assert await here.kept() is None, moment
    again = Life()
    if goal is NEW:
        await driven(here, goal, again)
    else:  # what has been rolled back is over, and whoever asks again is told so
        with pytest.raises(CannotRotate, match="no rotation to roll back"):
            await driven(here, goal, again)
    assert again.asked, moment
    assert again.writes == [], moment
    assert _others(here) == untouched, moment


def _others(here: Mesh) -> list[dict[Key, int]]:
    return [strangers(town.place, _is_about_trust) for town in here.towns.values()]


def _is_about_trust(obj: JsonObject) -> bool:
    return obj["metadata"]["name"] in ABOUT_TRUST
