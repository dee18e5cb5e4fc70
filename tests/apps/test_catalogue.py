"""Two controllers and a catalogue between them, on embedded clusters and virtual time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from isthmus.apps.controller.linking.following import SOON
from isthmus.apps.controller.mirroring.prober import JITTER, PERIOD
from isthmus.apps.controller.run import Controller
from isthmus.catalogue.errors import Forbidden, Unreachable
from isthmus.catalogue.following import Chunks, Door
from isthmus.catalogue.serving import spoken
from isthmus.embedded.faults import effects
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    SERVICES,
    SLICES,
    Place,
    Running,
    controlling,
    endpoints,
    exported,
    furnish,
    join,
    place,
    settled,
    source,
)
from tests.support.waiting import until

QUARTER = 900.0  # of an hour
CATALOGUE = {"via": "gateway", "gateway": {"addresses": ["203.0.113.9"]}}


@dataclass(slots=True)
class Way:
    """What leads from east to the catalogue of west, as long as it is there."""

    controllers: dict[str, Controller] = field(default_factory=dict)
    opened: int = 0
    refused: int = 0

    def __call__(self, door: Door) -> AbstractAsyncContextManager[Chunks]:
        return self._open(door)

    @asynccontextmanager
    async def _open(self, door: Door) -> AsyncIterator[Chunks]:
        await asyncio.sleep(0.01)
        controller = self.controllers.get(door.cluster)
        if controller is None:
            raise Unreachable(f"{door.cluster} does not answer")
        offers = controller.exporting.offers
        try:
            stream = offers.open("east")
        except Forbidden:
            self.refused += 1
            raise
        self.opened += 1

        async def chunks() -> AsyncGenerator[bytes, None]:
            async for chunk in spoken(stream, QUARTER / 3):
                await asyncio.sleep(0.01)
                if self.controllers.get(door.cluster) is not controller:
                    raise Unreachable(f"{door.cluster} has gone")
                yield chunk

        try:
            async with aclosing(chunks()) as lent:
                yield lent
        finally:
            offers.forget(stream)


@asynccontextmanager
async def offering(west: Place, way: Way, seed: int = 9) -> AsyncIterator[Running]:
    async with controlling(west, seed=seed) as running:
        way.controllers[west.name] = running.controller
        yield running
        way.controllers.pop(west.name, None)


def grant(name: str = "east", **spec: object) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"cluster": "east"} | spec}


def link(**spec: object) -> JsonObject:
    return {
        "metadata": {"name": "west"},
        "spec": CATALOGUE | {"enableHeadlessServices": True} | spec,
    }


async def target(*services: JsonObject, number: int = 1) -> Place:
    west = place("west", number)
    await furnish(west)
    for one in services:
        await west.create(SERVICES, one)
        await west.create(SLICES, endpoints(one["metadata"]["name"], "10.2.0.1"))
    return west


def web(count: int) -> list[JsonObject]:
    return [exported(f"web-{number}") for number in range(count)]


def mirrored(count: int) -> list[str]:
    return [f"web-{number}-west" for number in range(count)]


async def test_exports_are_mirrored_with_no_credential_but_a_grant() -> None:
    east, west, way = (
        await source(),
        await target(exported("web"), exported("db", headless=True)),
        Way(),
    )
    pods = endpoints("db", "db-0", "db-1")
    await west.edit(SLICES, "db-abcde", {"endpoints": pods["endpoints"]})
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await settled(east, ["web-west", "db-west", "db-0-west", "db-1-west"])
        assert await east.condition("Ready") == ("True", "Ready")
        mirror = await east.get(SERVICES, "db-0-west")
        assert mirror is not None
        # The Link says nothing about the target's domain: the target itself does.
        assert mirror["metadata"]["annotations"]["mirror.linkerd.io/remote-svc-fq-name"] == (
            "db-0.db.default.svc.west.cluster.local"
        )
        await west.edit(SLICES, "db-abcde", {"endpoints": pods["endpoints"][:1]})
        await west.create(SERVICES, exported("late"))
        await settled(east, ["web-west", "db-west", "db-0-west", "late-west"])
        await west.edit(
            SERVICES, "late", {"metadata": {"labels": {"mirror.linkerd.io/exported": None}}}
        )
        await settled(east, ["web-west", "db-west", "db-0-west"])


async def test_without_a_grant_there_is_no_catalogue_and_with_one_there_is() -> None:
    east, west, way = await source(), await target(*web(2)), Way()
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await asyncio.sleep(60)
        assert await east.condition("Connected") == ("False", "Forbidden")
        assert await east.mirrors() == []
        await west.create(GRANTS, grant(to={"services": ["default/web-0"]}))
        await settled(east, ["web-0-west"], within=90)
        await west.create(GRANTS, grant("more", to={"services": ["default/web-1"]}))
        await settled(east, mirrored(2))
        await west.delete(GRANTS, "more")
        await settled(east, ["web-0-west"])


async def test_a_grant_that_is_withdrawn_takes_no_mirror_along() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way) as there, controlling(east, catalogue=way):
        await settled(east, mirrored(8))
        await west.delete(GRANTS, "east")
        await asyncio.sleep(1)
        assert there.controller.exporting.routes().inbound == ()
        assert there.controller.exporting.routes().catalogue_callers.exact == ()
        await asyncio.sleep(QUARTER)
        assert await east.mirrors() == mirrored(8)
        assert await east.condition("Connected") == ("False", "Forbidden")
        await west.create(GRANTS, grant())
        await asyncio.sleep(120)
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_grant_that_is_back_lets_the_catalogue_be_followed_within_seconds() -> None:
    """However long it was away: somebody has just written it, and looks whether it works."""
    east, west, way = await source(), await target(*web(1)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await settled(east, mirrored(1))
        for away in (30, QUARTER):
            await west.delete(GRANTS, "east")
            await asyncio.sleep(away)
            assert await east.condition("Connected") == ("False", "Forbidden")
            tried = way.refused
            await asyncio.sleep(60)
            assert way.refused - tried <= 60 / (SOON / 2)  # knocks, but does not hammer
            await west.create(GRANTS, grant())
            await until(
                lambda: east.condition("Connected"),
                lambda found: found == ("True", "Connected"),
                within=5,
            )


@pytest.mark.parametrize("seed", range(3))
async def test_to_be_refused_for_long_makes_nobody_wait_longer_for_a_gateway_that_is_away(
    seed: int,
) -> None:
    """A gateway that refuses is there: that it has done so often says nothing about its absence."""
    east, west, way = await source(), await target(*web(1)), Way()
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way, seed=seed):
        await asyncio.sleep(QUARTER)
        assert await east.condition("Connected") == ("False", "Forbidden")
        gateway = way.controllers.pop(west.name)
        await west.create(GRANTS, grant())
        await asyncio.sleep(SOON + 1)
        way.controllers[west.name] = gateway
        await asyncio.sleep(10)
        assert way.opened == 1


async def test_grants_are_told_whether_they_are_understood() -> None:
    west, way = await target(), Way()
    await west.create(GRANTS, grant("good"))
    await west.create(GRANTS, grant("bad", **{"from": {"namespaces": ["shop/sa/web"]}}))

    async def accepted(name: str) -> list[tuple[str, str]]:
        found = await west.get(GRANTS, name)
        assert found is not None
        known = found.get("status", {}).get("conditions", ())
        return [(one["status"], one["reason"]) for one in known if one["type"] == "Accepted"]

    async with offering(west, way) as there:
        await until(lambda: accepted("good"), lambda found: found == [("True", "Accepted")])
        await until(lambda: accepted("bad"), lambda found: found == [("False", "Malformed")])
        there.writes.clear()
        await asyncio.sleep(QUARTER)
        assert there.writes == []
        await west.edit(GRANTS, "bad", {"spec": {"from": {"namespaces": ["shop"]}}})
        await until(lambda: accepted("bad"), lambda found: found == [("True", "Accepted")])


async def test_a_grant_that_could_not_be_told_is_told_when_that_is_allowed_again() -> None:
    west, way = await target(), Way()
    rule = west.cluster.faults.add(
        effects.failing(403), lambda one: one.path.endswith("/grants/east/status")
    )
    await west.create(GRANTS, grant())

    async def told() -> bool:
        found = await west.get(GRANTS, "east")
        return found is not None and bool(found.get("status"))

    async with offering(west, way):
        await asyncio.sleep(QUARTER)
        assert not await told()
        rule.times = 0
        await until(told, lambda found: found, within=180)


async def test_the_links_selector_chooses_among_what_is_offered() -> None:
    east, west, way = await source(), await target(*web(1)), Way()
    staging = exported("lab")
    staging["metadata"]["labels"]["mirror.linkerd.io/exported"] = "staging"
    await west.create(SERVICES, staging)
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await settled(east, mirrored(1))
        selector = {"matchLabels": {"mirror.linkerd.io/exported": "staging"}}
        await east.edit(LINKS, "west", {"spec": {"selector": selector}})
        await settled(east, ["lab-west"])


async def test_what_cannot_be_exported_is_named_in_the_source() -> None:
    east, west, way = await source(), await target(*web(1)), Way()
    datagrams = exported("dns")
    datagrams["spec"]["ports"] = [{"name": "dns", "port": 53, "protocol": "UDP"}]
    await west.create(SERVICES, datagrams)
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await settled(east, mirrored(1))
        (refused,) = (await east.link())["status"]["refused"]
        assert (refused["name"], refused["reason"]) == ("dns", "NoTCPPorts")


async def test_a_target_out_of_sight_changes_nothing_but_the_status() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with controlling(east, catalogue=way) as here:
        async with offering(west, way):
            await settled(east, mirrored(8))
            before = await east.all(SERVICES), await east.all(SLICES)
        await asyncio.sleep(QUARTER)
        assert (await east.all(SERVICES), await east.all(SLICES)) == before
        assert await east.condition("Connected") == ("False", "Unreachable")
        assert await east.condition("Synced") == ("False", "Stale")
        await west.delete(SERVICES, "web-0")
        here.writes.clear()
        async with offering(west, way, seed=10):
            await settled(east, mirrored(8)[1:], within=90)
            assert sum("/services/" in one for one in here.writes) == 1
            await until(lambda: east.condition("Ready"), lambda found: found == ("True", "Ready"))


async def test_a_gateway_that_answers_again_is_followed_again_at_once() -> None:
    east, west, way = await source(), await target(*web(1)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way) as there, controlling(east, catalogue=way) as here:
        await settled(east, mirrored(1))
        here.air.dead.add("203.0.113.9")
        del way.controllers[west.name]
        await asyncio.sleep(QUARTER)
        assert await east.condition("Connected") == ("False", "Unreachable")
        here.air.dead.clear()
        way.controllers[west.name] = there.controller
        await until(
            lambda: east.condition("Connected"),
            lambda found: found == ("True", "Connected"),
            within=PERIOD * (1 + JITTER) + 2,
        )


async def test_new_connections_cost_no_write_and_neither_does_a_restart() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way) as here:
        await settled(east, mirrored(8))
        await asyncio.sleep(30)
        here.writes.clear()
        await asyncio.sleep(QUARTER)
        assert here.writes == []
        assert 3 <= way.opened <= 4
    async with offering(west, way), controlling(east, catalogue=way, seed=2) as again:
        await asyncio.sleep(120)
        assert again.controller.election.still_leading()
        assert again.writes == []


async def test_a_true_mass_withdrawal_is_confirmed_over_a_second_connection() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    async with offering(west, way), controlling(east, catalogue=way):
        await settled(east, mirrored(8))
        opened = way.opened
        for one in web(8):
            await west.delete(SERVICES, one["metadata"]["name"])
        await settled(east, [])
        assert way.opened > opened


async def test_a_rebuilt_target_is_not_believed_until_somebody_says_so() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    rebuilt = await target(exported("other"), number=2)
    await rebuilt.create(GRANTS, grant())
    async with controlling(east, catalogue=way):
        async with offering(west, way):
            await settled(east, mirrored(8))
        async with offering(rebuilt, way, seed=11):
            await asyncio.sleep(QUARTER / 3)
            assert await east.mirrors() == mirrored(8)
            assert await east.condition("Connected") == ("False", "IdentityChanged")
            unpinned = {"status": {"clusterUID": None}}
            await east.client.merge_patch(LINKS, Key("", "west"), unpinned, "status")
            await settled(east, ["other-west"], within=180)


async def test_a_target_that_is_rebuilt_before_it_is_recorded_is_the_one_that_is_meant() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await east.create(LINKS, link())
    rebuilt = await target(exported("other"), number=2)
    await rebuilt.create(GRANTS, grant())
    east.cluster.faults.add(effects.failing(500), lambda one: one.path.endswith("/status"))
    async with controlling(east, catalogue=way):
        async with offering(west, way):
            await asyncio.sleep(30)
            assert await east.mirrors() == []
        async with offering(rebuilt, way, seed=11):
            await asyncio.sleep(60)
            east.cluster.faults.clear()
            await settled(east, ["other-west"], within=120)


async def test_a_target_keeps_its_mirrors_when_its_catalogue_takes_the_place_of_its_api() -> None:
    east, west, way = await source(), await target(*web(8)), Way()
    await west.create(GRANTS, grant())
    await join(east, west)
    async with offering(west, way), controlling(east, [west], catalogue=way) as here:
        await settled(east, mirrored(8))
        here.writes.clear()
        await east.edit(LINKS, "west", {"spec": {"via": "gateway"}})
        await asyncio.sleep(60)
        assert way.opened == 1
        assert await east.condition("Ready") == ("True", "Ready")
        assert [one for one in here.writes if "/links/" not in one and "/events" not in one] == []
        await west.create(SERVICES, exported("late"))
        await settled(east, [*mirrored(8), "late-west"])
