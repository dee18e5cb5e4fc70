"""Trouble with this cluster's own API server, and with gateways: retried for ever, never hotly."""

import asyncio
from functools import partial
from itertools import pairwise
from operator import le

import pytest

from isthmus.catalogue.errors import Untrusted
from isthmus.catalogue.following import Door
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect, Matches
from isthmus.kube.transport import Request
from tests.apps.clusters import LINKS, SERVICES, SLICES, Air, controlling, settled
from tests.apps.test_mirroring import mirror_writes, mirrored, pair, readiness, watches, web
from tests.support.waiting import until

TEN_MINUTES = 600.0


def is_mirror_write(request: Request) -> bool:
    about = "/services" in request.path or "/endpointslices" in request.path
    return request.method != "GET" and about


@pytest.mark.parametrize(
    "effect",
    [
        pytest.param(effects.failing(500), id="500"),
        pytest.param(effects.failing(503), id="503"),
        pytest.param(effects.failing(429, retry_after=1), id="429"),
        pytest.param(effects.failing(409), id="409"),
        pytest.param(effects.failing(403), id="403"),
        pytest.param(effects.lost_answer(), id="an answer that is lost"),
    ],
)
async def test_writes_that_fail_are_tried_until_they_succeed_and_not_all_the_time(
    effect: Effect,
) -> None:
    east, west = await pair(*web(3))
    faults = east.cluster.faults
    faults.add(effect, is_mirror_write)
    async with controlling(east, [west]) as running:
        await asyncio.sleep(TEN_MINUTES)
        # Each of three names may try at most once a minute in the end, from fractions of a second.
        assert 3 <= len(mirror_writes(running.writes)) <= 120
        faults.clear()
        await settled(east, mirrored(3), within=120)
        assert (await east.link())["status"]["refusedCount"] == 0


@pytest.mark.parametrize("code", [409, 500, 422, 403])
async def test_a_status_that_cannot_be_written_is_tried_less_and_less_often(code: int) -> None:
    east, west = await pair(*web(1))
    faults = east.cluster.faults
    faults.add(effects.failing(code), lambda one: one.path.endswith("/links/west/status"))
    async with controlling(east, [west]) as running:
        await asyncio.sleep(TEN_MINUTES)
        assert 3 <= sum(one.endswith("/links/west/status") for one in running.writes) <= 60
        faults.clear()
        await settled(east, mirrored(1), within=150)


def is_local_list(plural: str) -> Matches:
    """Lists of one kind, the way every mistaken server would give them to everybody."""

    def matches(request: Request) -> bool:
        watches = any(name == "watch" for name, _ in request.query)
        return request.method == "GET" and not watches and request.path.endswith(f"/{plural}")

    return matches


@pytest.mark.parametrize("plural", ["services", "endpointslices"])
async def test_a_link_is_not_let_go_because_a_list_lacks_its_mirrors(plural: str) -> None:
    east, west = await pair(*web(2))
    faults = east.cluster.faults
    async with controlling(east, [west]):
        await settled(east, mirrored(2))
        lie = faults.add(effects.empty_list(), is_local_list(plural))
        faults.compact()
        faults.disconnect()
        await asyncio.sleep(2)
        await east.delete(LINKS, "west")
        await asyncio.sleep(30)
        assert await east.get(LINKS, "west") is not None  # as long as anything may be left
        lie.times = 0
        await until(lambda: east.get(LINKS, "west"), lambda found: found is None, within=900)
        assert await east.mirrors() == []
        assert await east.all(SLICES, labels="mirror.linkerd.io/mirrored-service=true") == []


async def test_no_mirror_is_deleted_because_a_list_lacks_its_namespace() -> None:
    east, west = await pair(*web(2))
    faults = east.cluster.faults
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(2))
        running.writes.clear()
        lie = faults.add(effects.empty_list(), is_local_list("namespaces"))
        faults.compact()
        faults.disconnect()
        await asyncio.sleep(30)
        assert mirror_writes(running.writes) == []
        lie.times = 0
        await asyncio.sleep(900)
        assert mirror_writes(running.writes) == []


async def test_what_could_not_go_for_want_of_its_namespace_goes_when_that_is_seen_again() -> None:
    east, west = await pair(*web(2))
    faults = east.cluster.faults
    async with controlling(east, [west]):
        await settled(east, mirrored(2))
        lie = faults.add(effects.empty_list(), is_local_list("namespaces"))
        faults.compact()
        faults.disconnect()
        await asyncio.sleep(30)
        await east.delete(LINKS, "west")
        await asyncio.sleep(30)
        lie.times = 0
        await until(lambda: east.get(LINKS, "west"), lambda found: found is None, within=900)
        assert await east.mirrors() == []


def about_egress(request: Request) -> bool:
    return "isthmus-egress" in dict(request.query).get("labelSelector", "")


async def test_no_mirror_goes_dark_because_a_list_lacks_the_egress() -> None:
    east, west = await pair(*web(2))
    faults = east.cluster.faults
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(2))
        running.writes.clear()
        lists = is_local_list("endpointslices")
        faults.add(effects.empty_list(), lambda one: lists(one) and about_egress(one), times=1)
        faults.add(effects.failing(410), lambda one: watches(one) and about_egress(one), times=1)
        faults.disconnect()
        await asyncio.sleep(30)
        await west.edit(SERVICES, "web-0", {"spec": {"ports": [{"name": "http", "port": 81}]}})
        await asyncio.sleep(30)
        assert await readiness(east, "web-0-west") == [True, True]
        assert await readiness(east, "web-1-west") == [True, True]
        await asyncio.sleep(900)
        assert await readiness(east, "web-0-west") == [True, True]


class Counting(Air):
    """Air in which it is noted when which gateway was probed."""

    def __init__(self) -> None:
        super().__init__()
        self.probes: list[tuple[float, str, int]] = []

    async def touch(self, address: str, port: int) -> None:
        self.probes.append((asyncio.get_running_loop().time(), address, port))
        await super().touch(address, port)

    async def count(self) -> int:
        return len(self.probes)


async def test_gateways_are_probed_every_period_and_a_little_later() -> None:
    east, west = await pair(probe={"period": "10s", "timeout": "2s", "failureThreshold": 2})
    air = Counting()
    async with controlling(east, [west], air=air):
        await asyncio.sleep(TEN_MINUTES)
        times = [when for when, _, _ in air.probes]
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert len(gaps) >= 50
        assert all(10.0 <= gap <= 11.1 for gap in gaps)
        assert max(gaps) - min(gaps) > 0.2  # lest all gateways be asked at the same moment
        await east.edit(
            LINKS, "west", {"spec": {"gateway": {"port": 4999}, "probe": {"period": "1s"}}}
        )
        await asyncio.sleep(12)
        air.probes.clear()
        await asyncio.sleep(60)
        assert {port for _, _, port in air.probes} == {4999}
        assert len(air.probes) >= 50


@pytest.mark.parametrize(
    "data_plane, answers, alive",
    [
        pytest.param("envoy", True, "True", id="a gateway of ours that answers"),
        pytest.param("envoy", False, "False", id="somebody else at its port"),
        pytest.param("external", False, "True", id="another's gateway, which we cannot ask"),
    ],
)
async def test_a_gateway_of_ours_has_to_prove_itself_and_to_answer(
    data_plane: str, answers: bool, alive: str
) -> None:
    asked: list[tuple[str, str, int]] = []

    async def knock(door: Door, address: str) -> None:
        asked.append((door.cluster, address, door.port))
        if not answers:
            raise Untrusted(f"{address}: who answers there does not prove to be the gateway")

    east, west = await pair(dataPlane=data_plane)
    async with controlling(east, [west], knock=knock):  # where every port is open
        await asyncio.sleep(30)
        assert (await east.condition("GatewayAlive"))[0] == alive
    assert set(asked) == ({("west", "203.0.113.9", 4143)} if data_plane == "envoy" else set())


async def test_a_gateway_that_is_down_before_the_controller_starts_counts_as_down() -> None:
    east, west = await pair(*web(1))
    air = Air(dead={"203.0.113.9"})
    async with controlling(east, [west], air=air):
        await settled(east, mirrored(1))
        await asyncio.sleep(30)
        assert await readiness(east, "web-0-west") == [False, False]
        assert await east.condition("GatewayAlive") == ("False", "ProbeFailed")
        assert await east.condition("Ready") == ("False", "ProbeFailed")


async def test_two_failures_and_a_success_change_nothing() -> None:
    east, west = await pair(*web(1))
    air = Counting()
    async with controlling(east, [west], air=air) as running:
        await settled(east, mirrored(1))
        await asyncio.sleep(30)
        running.writes.clear()
        for _ in range(20):
            before = await air.count()
            air.dead.add("203.0.113.9")
            await until(air.count, partial(le, before + 2))
            await asyncio.sleep(0.1)
            air.dead.clear()
            await asyncio.sleep(4)
        assert running.writes == []
        assert await readiness(east, "web-0-west") == [True, True]
