"""``isthmus unlink`` that is killed wherever it waits is typed again, and ends the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from isthmus.cli.joining.unlinking import Unlinking
from isthmus.cli.progress import Progress
from isthmus.embedded.state.store import Snapshot
from isthmus.kube.client import Client
from isthmus.model.names import CLUSTER
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    LINKS,
    SERVICES,
    SLICES,
    Place,
    VirtualClock,
    controlling,
    endpoints,
    exported,
    join,
    place,
    source,
)
from tests.apps.test_mirroring import foreign
from tests.crash.dying import Fate, Life, Moment
from tests.crash.portrait import differences, kept, portrait, restore, strangers

LONG_ENOUGH = 30.0
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A source with two links, one of which is to end."""

    east: Place
    targets: tuple[Place, ...]
    start: list[Snapshot]
    is_run: bool = False  # by a controller, which is not the one that dies

    @property
    def places(self) -> tuple[Place, ...]:
        return (self.east, *self.targets)

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        restore(self.places, self.start)
        if not self.is_run:
            yield
            return
        async with controlling(self.east, self.targets, seed=3):
            await asyncio.sleep(LONG_ENOUGH)
            yield
            await asyncio.sleep(LONG_ENOUGH)

    async def unlink(self, life: Life) -> str:
        """Type the command; return what it said, nothing if it died."""
        client = Client(life.around(self.east.cluster.transport()), clock=VirtualClock())
        work = Unlinking(client, "west", VirtualClock(), Progress(lambda _: None))
        typed = asyncio.create_task(work.wait(PATIENCE) if self.is_run else work.force())
        dying = asyncio.create_task(life.died.wait())
        await asyncio.wait({typed, dying}, return_when=asyncio.FIRST_COMPLETED)
        for task in (typed, dying):
            task.cancel()
        await asyncio.wait({typed, dying})
        return "" if life.died.is_set() else typed.result()


async def abandoned() -> Scene:
    """Mirrors of two links, whose controller is gone."""
    east, west, north = await source(), place("west", 1), place("north", 2)
    await join(east, west, north)
    for target in (west, north):
        await target.create(SERVICES, exported("web"))
        await target.create(SERVICES, exported("db", headless=True))
        await target.create(SLICES, endpoints("db", "db-0"))
    await east.create(SERVICES, foreign("mine-west"))
    async with controlling(east, [west, north]) as running:
        await asyncio.sleep(LONG_ENOUGH)
        assert len(await east.mirrors()) == 6
        await running.crash()
    return Scene(east, (west, north), kept(east, west, north))


async def half_removed() -> Scene:
    """Somebody has begun with it, and was killed in the middle."""
    scene = await abandoned()
    whole = Life()
    await scene.unlink(whole)
    writes = [at for at, one in enumerate(whole.asked) if one.is_write]
    restore(scene.places, scene.start)
    await scene.unlink(Life(Moment(writes[len(writes) // 2], Fate.UNANSWERED)))
    return Scene(scene.east, scene.targets, kept(*scene.places))


async def without_a_link() -> Scene:
    """The Link is gone by somebody's force, its mirrors are there."""
    scene = await abandoned()
    await scene.east.edit(LINKS, "west", {"metadata": {"finalizers": None}})
    await scene.east.delete(LINKS, "west")
    return Scene(scene.east, scene.targets, kept(*scene.places))


async def attended() -> Scene:
    scene = await abandoned()
    return Scene(scene.east, scene.targets, scene.start, is_run=True)


async def attended_and_ending() -> Scene:
    scene = await abandoned()
    await scene.east.delete(LINKS, "west")
    return Scene(scene.east, scene.targets, kept(*scene.places), is_run=True)


STATES = (abandoned, half_removed, without_a_link, attended, attended_and_ending)


@pytest.mark.parametrize("state", STATES, ids=lambda one: one.__name__.replace("_", " "))
async def test_a_command_killed_wherever_it_waits_is_typed_again_and_ends_the_same(
    state: Callable[[], Awaitable[Scene]],
) -> None:
    scene = await state()
    whole = Life()
    async with scene.begun():
        await scene.unlink(whole)
    wanted = portrait(scene.east)
    assert await scene.east.mirrors() == ["db-0-north", "db-north", "web-north"]
    # There are few enough to try all of them, whatever is asked for.
    for moment in whole.moments(many_at_once=False, fully=True):
        async with scene.begun():
            untouched = strangers(scene.east, _is_of_west)
            north = await scene.east.link("north")
            victim = Life(moment)
            assert await scene.unlink(victim) == "", moment
            assert await scene.unlink(Life()), moment
            again = Life()
            assert "is not there" in await scene.unlink(again), moment
            assert again.writes == [], moment
        found = portrait(scene.east)
        assert found == wanted, f"{moment}\n{differences(found, wanted)}"
        assert strangers(scene.east, _is_of_west) == untouched, moment
        assert (await scene.east.link("north"))["spec"] == north["spec"], moment


def _is_of_west(obj: JsonObject) -> bool:
    return (obj["metadata"].get("labels") or {}).get(CLUSTER) == "west"
