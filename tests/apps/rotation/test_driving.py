"""A rotation replaces the anchor of running clusters, whatever happens to whoever drives it."""

import asyncio
import logging

import pytest

from isthmus.apps.rotation.planning import CannotRotate
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.names import ANCHORS, TRUST
from isthmus.model.objects import Key
from isthmus.pki.keys import chain_pem, key_pem
from tests.apps.clusters import LINKS, link
from tests.apps.rotation.mesh import NEW, OLD, SPACE, Mesh, mesh, prints
from tests.apps.trusting import anchor

MINUTE = 60.0
BEFORE, AFTER = {(prints(OLD), prints(OLD))}, {(prints(NEW), prints(NEW))}


def changes(lines: list[str]) -> list[str]:
    """The lines about what was written, without the ends of issuers."""
    return [line.partition(", until")[0] for line in lines if "waiting" not in line]


async def test_every_step_is_said_and_so_is_whom_it_waits_for() -> None:
    old, new = (next(iter(prints(one)))[:16] for one in (OLD, NEW))
    async with mesh("east", "west") as here:
        assert await here.run()
        assert await here.state() == AFTER
        assert await here.kept() is None
    assert changes(here.lines) == [
        f"distribute: east trusts {new} as well",
        f"distribute: west trusts {new} as well",
        f"reissue: east has an issuer below {new}",
        f"reissue: west has an issuer below {new}",
        f"drop: east does not trust {old} any more",
        f"drop: west does not trust {old} any more",
        "done: all clusters trust one anchor only, and are below it",
    ]
    waiting = [line for line in here.lines if "east/east-isthmus-egress" in line]
    assert "do not trust both anchors yet, or are silent" in waiting[0]
    assert "hold certificates below another anchor still" in "".join(waiting)


async def test_a_rotation_that_has_ended_has_nothing_to_do() -> None:
    async with mesh("east", "west") as here:
        assert await here.run()
        here.lines.clear()
        assert await here.run()
        assert here.lines == []


MOMENTS = (
    "distribute: east trusts",
    "distribute: waiting",
    "reissue: east has",
    "reissue: west has",
    "drop: waiting",
    "drop: east does",
    "drop: west does",
)


async def begun(here: Mesh, moment: str) -> asyncio.Task[bool]:
    """Drive until something has been said."""
    here.lines.clear()
    task = asyncio.create_task(here.run())
    await here.heard(moment)
    return task


@pytest.mark.parametrize("is_warned", [True, False], ids=["interrupted", "killed"])
async def test_others_go_on_where_a_driver_has_ended_in_every_phase(is_warned: bool) -> None:
    async with mesh("east", "west") as here:
        for moment in MOMENTS:
            task = asyncio.create_task(here.run())

            def end(driver: asyncio.Task[bool] = task) -> None:
                if not is_warned:
                    for wire in here.wires.values():
                        wire.cut()
                driver.cancel()

            here.watched = moment, end
            await asyncio.wait({task})
            assert task.cancelled()
            await asyncio.sleep(MINUTE)
        here.watched = None
        assert await here.run()
        assert await here.state() == AFTER


async def test_nothing_changes_while_it_is_paused_in_every_phase() -> None:
    async with mesh("east", "west", seed=3) as here:
        for moment in ("distribute: east", "distribute: wait", "reissue: east", "drop: east"):
            task = await begun(here, moment)
            await here.pause()
            assert not await task
            assert here.lines[-1] == "paused"
            before = await here.state()
            await asyncio.sleep(5 * MINUTE)
            assert await here.state() == before
        assert await here.run()
        assert await here.state() == AFTER


@pytest.mark.parametrize(
    "moment", ["distribute: waiting", "reissue: east has", "drop: waiting", "drop: east does"]
)
async def test_it_is_rolled_back_from_every_phase(moment: str) -> None:
    async with mesh("east", "west", seed=2) as here:
        task = await begun(here, moment)
        back = asyncio.create_task(here.run(goal=OLD))
        assert not await task  # it notices, and makes room
        assert await back
        assert await here.state() == BEFORE
        assert await here.kept() is None


async def test_who_rolls_back_may_go_forward_again() -> None:
    async with mesh("east", "west") as here:
        task = await begun(here, "reissue: east has")
        back = asyncio.create_task(here.run(goal=OLD))
        assert not await task
        await here.heard("drop: waiting")
        forward = asyncio.create_task(here.run())
        assert not await back
        assert await forward
        assert await here.state() == AFTER


async def test_one_driver_acts_at_a_time() -> None:
    async with mesh("east", "west") as here:
        first = await begun(here, "distribute: waiting")
        second = asyncio.create_task(here.run())
        await asyncio.sleep(MINUTE)
        assert here.said("waiting for ")
        assert await first
        assert not await second
        assert here.lines[-1].startswith("stopped: nothing is kept of the rotation any more")
        assert len([line for line in here.lines if " trusts " in line]) == 2
        assert await here.state() == AFTER


async def test_a_silent_proxy_is_waited_for_by_name() -> None:
    async with mesh("east", "west") as here:
        silent = here.towns["west"].members[1]
        silent.is_deaf = True
        task = asyncio.create_task(here.run())
        await asyncio.sleep(15 * MINUTE)
        assert here.lines[-1].endswith(f"or are silent: west/{silent.name}")
        assert prints(OLD) < (await here.towns["west"].current())[0]
        silent.is_deaf = False
        assert await task


async def test_a_cluster_that_is_away_for_a_while_is_named_and_waited_for() -> None:
    async with mesh("east", "west") as here:
        task = await begun(here, "reissue: east has")
        here.wires["west"].is_cut = True
        await asyncio.sleep(15 * MINUTE)
        away = [line for line in here.lines if "the process is gone" in line]
        assert 1 <= len(away) <= 3  # each once
        assert "context-west: " in "".join(away)
        assert not here.said("drop: east does")
        here.wires["west"].is_cut = False
        assert await task
        assert await here.state() == AFTER


async def test_what_others_write_meanwhile_is_not_lost() -> None:
    third = anchor()
    async with mesh("east", "west") as here:
        task = await begun(here, "distribute: waiting")
        text = b"".join(chain_pem(one.certificate) for one in (OLD, third)).decode()
        east = here.towns["east"].place
        await east.client.merge_patch(CONFIG_MAPS, Key(SPACE, TRUST), {"data": {ANCHORS: text}})
        assert await task
        assert (await here.towns["east"].current())[0] == prints(NEW, third)


async def test_a_pod_that_joins_meanwhile_is_waited_for() -> None:
    async with mesh("east", "west") as here:
        task = await begun(here, "reissue: west has")
        await here.towns["east"].add("late-egress", "isthmus-egress", lag=100.0)
        assert await task
        assert await here.state() == AFTER


async def test_whoever_is_joined_must_be_named() -> None:
    async with mesh("east", "west") as here:
        await here.towns["west"].place.create(LINKS, link("north", via="gateway"))
        with pytest.raises(CannotRotate, match="west is joined with north, which is not named"):
            await here.run()
        assert await here.kept() is None


async def test_whoever_joins_meanwhile_stops_it() -> None:
    async with mesh("east", "west") as here:
        task = await begun(here, "distribute: waiting")
        await here.towns["west"].place.create(LINKS, link("north", via="gateway"))
        with pytest.raises(CannotRotate, match="west is joined with north"):
            await task


async def test_no_key_is_said_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with mesh("east", "west") as here:
        assert await here.run()
    said = "\n".join([*here.lines, *(str(one.__dict__) for one in caplog.records)])
    for pair in (OLD, NEW):
        for line in key_pem(pair.key).decode().splitlines()[1:-1]:
            assert line not in said
    assert "PRIVATE" not in said
