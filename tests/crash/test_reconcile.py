"""A controller that is killed wherever it waits is followed by one that comes to the same end."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from isthmus.embedded.state.store import Snapshot
from tests.apps.clusters import (
    LINKS,
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    place,
    source,
)
from tests.apps.clusters import join as joined
from tests.apps.test_mirroring import foreign
from tests.crash.dying import Fate, Life, Moment
from tests.crash.portrait import Portrait, differences, kept, portrait, restore, strangers

LONG_ENOUGH = 30.0  # seconds in which everything settles, an abandoned lease included
QUIET = 20.0  # seconds for second thoughts, of which there must be none


@dataclass(frozen=True, slots=True)
class Scene:
    """Two clusters at the moment when a controller starts."""

    east: Place
    west: Place
    start: list[Snapshot]

    def begin(self) -> None:
        restore((self.east, self.west), self.start)

    async def live(self, life: Life, seed: int = 1) -> None:
        """Let a controller work until it dies, or until it has had time for everything."""
        way = controlling(self.east, [self.west], seed=seed, around=life.around)
        async with way as running:
            if await life.ends(within=LONG_ENOUGH):
                await running.crash()
                return
            await self._rests(life)

    async def _rests(self, life: Life) -> None:
        """A settled world is not written to."""
        done = len(life.writes)
        await asyncio.sleep(QUIET)
        assert life.writes[done:] == []


async def taken(east: Place, west: Place) -> Scene:
    return Scene(east, west, kept(east, west))


async def nothing_yet() -> Scene:
    """A Link, exports of every shape, and things of other people in the way."""
    east, west = await source(), place("west", 1)
    await joined(east, west, createNamespaces=True)
    await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    for name, space in (("web", "default"), ("old", "default"), ("web", "shop")):
        await west.create(SERVICES, exported(name, namespace=space))
        await west.create(SLICES, endpoints(name, "10.2.0.1", namespace=space))
    for name in ("taken", "flip"):
        await west.create(SERVICES, exported(name))
        await west.create(SLICES, endpoints(name, f"{name}-0"))
    await west.create(SERVICES, exported("db", headless=True))
    await west.create(SLICES, endpoints("db", "db-0", "db-1"))
    await east.create(SERVICES, foreign("taken-west"))
    await east.create(SERVICES, foreign("mine"))
    await east.create(SLICES, endpoints("web-west", "10.9.9.9"))  # somebody else's, for our mirror
    return await taken(east, west)


async def half_done() -> Scene:
    """What a controller leaves that was killed in the middle of all that."""
    scene = await nothing_yet()
    whole = Life()
    await scene.live(whole)
    writes = [at for at, one in enumerate(whole.asked) if one in whole.writes]
    scene.begin()
    await scene.live(Life(Moment(writes[len(writes) // 2], Fate.UNANSWERED)))
    return await taken(scene.east, scene.west)


async def settled() -> Scene:
    scene = await nothing_yet()
    await scene.live(Life())
    return scene


async def changed_meanwhile() -> Scene:
    """Both clusters have changed while no controller was there to see it."""
    scene = await settled()
    east, west = scene.east, scene.west
    more = {"ports": [{"name": "http", "port": 80}, {"name": "admin", "port": 81}]}
    await west.edit(SERVICES, "web", {"spec": more})
    await west.edit(SERVICES, "old", {"metadata": {"labels": {"mirror.linkerd.io/exported": None}}})
    await west.edit(SLICES, "db-abcde", {"endpoints": endpoints("db", "db-0", "db-2")["endpoints"]})
    await west.delete(SERVICES, "flip")
    await west.create(SERVICES, exported("flip", headless=True))
    await east.edit(SERVICES, "db-0-west", {"spec": {"selector": {"app": "evil"}}})
    await east.delete(SLICES, "web-west-ipv4", "shop")
    await east.delete(SERVICES, "taken-west")
    return await taken(east, west)


async def ending() -> Scene:
    """The Link is deleted, and waits for its controller."""
    scene = await settled()
    await scene.east.delete(LINKS, "west")
    return await taken(scene.east, scene.west)


STATES = (nothing_yet, half_done, changed_meanwhile, ending)


@pytest.mark.parametrize("state", STATES, ids=lambda one: one.__name__.replace("_", " "))
async def test_a_controller_killed_wherever_it_waits_is_followed_by_the_same_end(
    state: Callable[[], Awaitable[Scene]],
) -> None:
    scene = await state()
    whole = Life()
    await scene.live(whole)
    wanted = portrait(scene.east)
    assert whole.writes
    for moment in whole.moments(many_at_once=True):
        scene.begin()
        untouched = strangers(scene.east), strangers(scene.west)
        victim, survivor = Life(moment), Life()
        await scene.live(victim)
        assert victim.died.is_set(), moment
        await scene.live(survivor, seed=2)
        _compare(portrait(scene.east), wanted, moment)
        assert (strangers(scene.east), strangers(scene.west)) == untouched, moment
        _does_not_flap(survivor, whole, moment)


def _compare(found: Portrait, wanted: Portrait, moment: Moment) -> None:
    assert found == wanted, f"{moment}\n{differences(found, wanted)}"


def _does_not_flap(survivor: Life, whole: Life, moment: Moment) -> None:
    """Whoever goes on writes no object more often than one who does everything."""
    again = _mirroring(survivor) - _mirroring(whole)
    assert not again, f"{moment}: written too often: {dict(again)}"


def _mirroring(life: Life) -> Counter[str]:
    """How often each mirror, slice and namespace was written."""
    told = (str(one) for one in life.writes)
    return Counter(one for one in told if "/links" not in one and "/events" not in one)
