"""A controller tries gateways when somebody asks, and no more often than that makes sense."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from isthmus.apps.controller.carrying.probing import PATIENCE, REST, Probing
from isthmus.model.objects import Key
from tests.apps.clusters import LINKS, Air, Place, controlling, join, place, source
from tests.support.waiting import until

GATEWAY = "203.0.113.9"


@dataclass(slots=True)
class Counting(Air):
    """Counts who is knocked at, and lets some hang."""

    touched: list[str] = field(default_factory=list)
    hanging: set[str] = field(default_factory=set)

    async def touch(self, address: str, port: int) -> None:
        self.touched.append(address)
        if address in self.hanging:
            await asyncio.sleep(3600)
        if address in self.dead:
            raise ConnectionRefusedError(111, f"Connect call failed ({address}, {port})")


@dataclass
class Asked:
    east: Place
    air: Counting
    probing: Probing


@asynccontextmanager
async def asked(*addresses: str) -> AsyncIterator[Asked]:
    """A controller with a link whose data plane is somebody else's, so that TCP is all there is."""
    east, west, air = await source(), place("west", 1), Counting()
    gateway = {"addresses": list(addresses or (GATEWAY,))}
    # Probed so seldom that what is counted here is what was asked for here.
    await join(east, west, gateway=gateway, dataPlane="external", probe={"period": "1h"})
    async with controlling(east, [west], air=air) as running:
        controller = running.controller
        await until(lambda: east.condition("Synced"), lambda found: found[0] == "True", within=30)
        air.touched.clear()
        yield Asked(east, air, Probing(controller.state, controller.dataplane, controller.outside))


async def test_a_gateway_answers() -> None:
    async with asked() as made:
        found = await made.probing.link("west")
        assert found is not None
        (attempt,) = found.attempts
        assert (attempt.address, attempt.port, attempt.answered) == (GATEWAY, 4143, True)
        assert (found.age, found.identity, found.hosts) == (0.0, "", ())


async def test_a_gateway_that_does_not_answer_says_why() -> None:
    async with asked() as made:
        made.air.dead.add(GATEWAY)
        found = await made.probing.link("west")
        assert found is not None
        (attempt,) = found.attempts
        assert (attempt.answered, attempt.reason) == (False, "ConnectionRefusedError")
        assert attempt.message == "connection refused"


async def test_nobody_waits_for_a_gateway_that_hangs() -> None:
    async with asked() as made:
        made.air.hanging.add(GATEWAY)
        began = asyncio.get_running_loop().time()
        found = await made.probing.link("west")
        assert asyncio.get_running_loop().time() - began < PATIENCE + 1
        assert found is not None
        assert found.attempts[0].message == "no answer within 3 s"


async def test_whoever_asks_again_at_once_is_told_the_same() -> None:
    async with asked() as made:
        first = await made.probing.link("west")
        await asyncio.sleep(REST / 2)
        again = await asyncio.gather(*(made.probing.link("west") for _ in range(20)))
        assert made.air.touched == [GATEWAY]
        assert first is not None
        assert {one.age for one in again if one is not None} == {REST / 2}
        await asyncio.sleep(REST)
        await made.probing.link("west")
        assert made.air.touched == [GATEWAY, GATEWAY]


async def test_names_are_resolved_anew_and_those_that_lead_nowhere_are_named() -> None:
    async with asked(GATEWAY, "gw.west.example") as made:
        found = await made.probing.link("west")
        assert found is not None
        (host,) = found.hosts
        assert (host.host, host.addresses, host.message) == (
            "gw.west.example",
            (),
            "name not known",
        )
        made.air.names["gw.west.example"] = ("203.0.113.10",)
        await asyncio.sleep(2 * REST)
        found = await made.probing.link("west")
        assert found is not None
        assert found.hosts[0].addresses == ("203.0.113.10",)


async def test_an_address_that_no_gateway_can_have_is_never_knocked_at() -> None:
    async with asked("169.254.169.254") as made:
        found = await made.probing.link("west")
        assert found is not None
        assert found.attempts == ()
        assert made.air.touched == []


async def test_what_does_not_exist_is_not_tried() -> None:
    async with asked() as made:
        assert await made.probing.link("north") is None
        assert await made.probing.mirror(Key("default", "web-west")) is None
        await made.east.delete(LINKS, "west")
        await until(lambda: made.probing.link("west"), lambda found: found is None, within=30)
