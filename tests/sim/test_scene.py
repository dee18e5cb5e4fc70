"""What the rules excuse, and for how long."""

import asyncio
from collections.abc import Coroutine
from random import Random

from isthmus.kube.client import Client
from tests.apps.clusters import SERVICES, Place
from tests.sim import breaking
from tests.sim.faults import hurt
from tests.sim.layout import GATEWAYS, Joint, Layout
from tests.sim.loop import SimLoop
from tests.sim.places import build
from tests.sim.scene import NOTICED, Clock, Scene
from tests.sim.steps import Step

WEST = Joint("west", "gateway", "envoy", True)


def scene(loop: SimLoop) -> Scene:
    """Two clusters, a gateway that is up, and no process yet."""
    made = Scene(Layout((WEST,), (), 1), "1", loop)
    made.network.names[WEST.host] = (GATEWAYS["west"],)
    made.network.listening[GATEWAYS["west"]] = "west"
    return made


def run(loop: SimLoop, story: Coroutine[object, object, None]) -> None:
    build()  # which needs loops of its own
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(story)


def test_a_gateway_counts_as_up_again_when_all_can_have_noticed() -> None:
    loop = SimLoop(Random(1))

    async def story() -> None:
        here = scene(loop)
        up_since = here.ledger.truth.gateways
        assert up_since("west") == 0.0
        await breaking.gateway_down(here, Step("gateway down", "west", "", 10))
        assert up_since("west") is None
        await asyncio.sleep(11)
        assert up_since("west") == 10 + NOTICED
        await breaking.gateway_moves(here, Step("gateway moves", "west"))
        assert up_since("west") == 11 + NOTICED
        await breaking.names_lie(here, Step("names lie", "west"))
        await asyncio.sleep(1000)
        assert up_since("west") is None
        await breaking.gateway_moves(here, Step("gateway moves", "west"))
        assert up_since("west") == 1011 + NOTICED

    run(loop, story())


def test_a_lie_that_is_told_by_several_faults_is_told_as_often_as_by_one() -> None:
    loop = SimLoop(Random(1))

    async def story() -> None:
        here = scene(loop)
        path = here._path("east-a.1", "east")
        path.token = here.sites["east"].cluster.admin_token
        east = Place("east", Client(path, clock=Clock(loop), random=Random(1)))
        hurt(here, path, "empty list", 3)
        for _ in range(3):
            await east.all(SERVICES)
        hurt(here, path, "empty list", 3)
        assert not here.ledger.told_twice
        await east.all(SERVICES)
        assert here.ledger.told_twice

    run(loop, story())
