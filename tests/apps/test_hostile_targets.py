"""What a target may do, or suffer, without harm to what is mirrored from it."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Serve
from isthmus.kube.errors import Untrusted
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    VirtualClock,
    controlling,
    endpoints,
    exported,
    foreign,
    join,
    place,
    settled,
    source,
)
from tests.apps.test_mirroring import (
    mirror_slices,
    mirror_writes,
    mirrored,
    pair,
    watches,
    web,
)
from tests.support.waiting import until


@pytest.mark.parametrize("minutes", [-10, 10, 60 * 24])
async def test_a_target_whose_clock_is_wrong_is_mirrored_and_the_difference_told(
    minutes: int, caplog: pytest.LogCaptureFixture
) -> None:
    east, west = await pair(*web(3))

    async def misdated(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        theirs = VirtualClock().utc() + timedelta(minutes=minutes)
        return replace(answer, headers={**answer.headers, "date": format_datetime(theirs)})

    west.cluster.faults.add(misdated)
    async with controlling(east, [west]):
        await settled(east, mirrored(3))
        assert await east.condition("Ready") == ("True", "Ready")
        await asyncio.sleep(600)
    (told,) = [one for one in caplog.records if "clocks differ" in one.message]
    assert {"ours", "theirs", "link"} <= vars(told).keys()


async def test_a_target_whose_certificate_is_not_trusted_is_kept_as_it_was() -> None:
    east, west = await pair(*web(3))

    async def impostor(_request: Request, _serve: Serve) -> Answer:
        raise Untrusted("wanted one signed by ours (SHA-256 aa), found one signed by theirs (bb)")

    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))
        running.writes.clear()
        west.cluster.faults.add(impostor)
        west.cluster.faults.disconnect()
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        assert await east.condition("Connected") == ("False", "TLSVerify")
        assert "aa" in str((await east.link())["status"]["conditions"])
        west.cluster.faults.clear()
        await asyncio.sleep(120)
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_repeated_deletion_of_a_former_service_takes_no_mirror() -> None:
    east, west = await pair(exported("web"), exported("db"))
    async with controlling(east, [west]) as running:
        await settled(east, ["db-west", "web-west"])
        former: list[bytes] = []

        def repeated(lines: list[bytes]) -> list[bytes]:
            former.extend(one for one in lines if b'"DELETED"' in one)
            return [*lines, *(former if any(b'"late"' in one for one in lines) else ())]

        west.cluster.faults.add(effects.events(repeated), watches)
        west.cluster.faults.disconnect()
        await asyncio.sleep(5)
        await west.delete(SERVICES, "web")
        await settled(east, ["db-west"])
        await west.create(SERVICES, exported("web"))
        await settled(east, ["db-west", "web-west"])
        running.writes.clear()
        await west.create(SERVICES, exported("late"))
        await settled(east, ["db-west", "late-west", "web-west"])
        assert former
        assert not [one for one in running.writes if "DELETE" in one]


async def test_a_flood_of_exports_from_one_target_slows_no_other() -> None:
    east = await source()
    flood, calm = place("flood", 1), place("calm", 2)
    for number in range(3000):
        await flood.create(SERVICES, exported(f"spam-{number}"))
    await calm.create(SERVICES, exported("web"))
    await join(east, flood, limits={"services": 40})
    await join(east, calm)
    async with controlling(east, [flood, calm]):
        await until(east.mirrors, lambda found: "web-calm" in found, within=5)
        await until(east.mirrors, lambda found: len(found) == 41, within=60)
        await asyncio.sleep(60)
        assert len(await east.mirrors()) == 41
        assert (await east.condition("LimitExceeded", "flood"))[0] == "True"
        assert (await east.link("flood"))["status"]["refusedCount"] == 2960
        assert await east.condition("Ready", "calm") == ("True", "Ready")


async def test_a_service_that_becomes_headless_and_back_has_its_mirror_replaced() -> None:
    east, west = await pair()
    await west.create(SLICES, endpoints("db", "db-0"))
    async with controlling(east, [west]):
        for headless in (False, True, False):
            await west.create(SERVICES, exported("db", headless=headless))
            await settled(east, ["db-west", *(["db-0-west"] if headless else [])])
            found = await east.get(SERVICES, "db-west")
            assert found is not None
            assert (found["spec"]["clusterIP"] == "None") is headless
            (one,) = await mirror_slices(east, "db-west")
            names = {each.get("hostname") for each in one["endpoints"]}
            assert names == ({"db-0"} if headless else {None})
            await west.delete(SERVICES, "db")


async def test_a_namespace_that_is_deleted_and_made_again_gets_its_mirrors_back() -> None:
    east, west = await pair()
    for one in (east, west):
        await one.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    await west.create(SERVICES, exported("web", namespace="shop"))
    async with controlling(east, [west]) as running:
        await settled(east, ["shop/web-west"])
        await east.delete(PLAIN_NAMESPACES, "shop")
        await asyncio.sleep(60)
        assert await east.mirrors() == []
        (refused,) = (await east.link())["status"]["refused"]
        assert refused["reason"] == "NamespaceMissing"
        running.writes.clear()
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
        await settled(east, ["shop/web-west"])


def local_watches(request: Request) -> bool:
    return watches(request) and request.path.endswith(("/services", "/endpointslices"))


async def usurp(east: Place, name: str) -> JsonObject:
    """Let a user put a Service of their own in the place of a mirror, at the same address."""
    before = await east.get(SERVICES, name)
    assert before is not None
    await east.delete(SERVICES, name)
    theirs = foreign(name)
    theirs["spec"]["clusterIP"] = before["spec"]["clusterIP"]
    return await east.create(SERVICES, theirs)


@pytest.mark.parametrize("change", ["deleted", "changed"])
async def test_a_controller_that_sees_nothing_new_here_harms_nothing_new(change: str) -> None:
    """Its view of this cluster stands still: only the conditions of its writes protect others."""
    east, west = await pair(*web(3))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))
        faults = east.cluster.faults
        faults.add(effects.silent(faults), local_watches)
        faults.disconnect()
        await asyncio.sleep(5)
        theirs = await usurp(east, "web-0-west")
        running.writes.clear()
        if change == "deleted":
            await west.delete(SERVICES, "web-0")
        else:
            await west.edit(SERVICES, "web-0", {"metadata": {"labels": {"team": "a"}}})
        await asyncio.sleep(20)
        assert any("web-0-west" in one for one in running.writes)
        assert await east.get(SERVICES, "web-0-west") == theirs
        faults.clear()
        await asyncio.sleep(200)
        assert await east.get(SERVICES, "web-0-west") == theirs


async def test_the_status_is_written_rarely_and_not_for_every_service() -> None:
    east, west = await pair(*web(200))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(200), within=120)
        await asyncio.sleep(30)
        written = [one for one in running.writes if "/links/" in one]
        assert 1 <= len(written) <= 10
        assert (await east.link())["status"]["mirrors"] == 200


@pytest.mark.parametrize("code, reason", [(422, "Rejected"), (403, "Forbidden")])
@pytest.mark.parametrize("change", [True, False])
async def test_what_the_api_server_here_refuses_is_shown_and_tried_again(
    code: int, reason: str, change: bool
) -> None:
    """At once after a change; else now and then, since quotas and policies change unseen."""
    east, west = await pair(*web(3))
    faults = east.cluster.faults

    def is_refused(request: Request) -> bool:
        return request.method == "POST" and b'"web-1-west"' in request.body

    faults.add(effects.failing(code, message="denied by a policy"), is_refused)
    async with controlling(east, [west]) as running:
        await settled(east, ["web-0-west", "web-2-west"])
        (refused,) = (await east.link())["status"]["refused"]
        assert (refused["name"], refused["reason"]) == ("web-1", reason)
        assert "denied by a policy" in refused["message"]
        running.writes.clear()
        await asyncio.sleep(600)
        assert 4 <= len(mirror_writes(running.writes)) <= 6
        faults.clear()
        if change:
            await west.edit(SERVICES, "web-1", {"metadata": {"labels": {"team": "a"}}})
        await settled(east, mirrored(3), within=10 if change else 130)
        assert (await east.link())["status"]["refusedCount"] == 0
