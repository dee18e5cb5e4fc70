"""Every fault can be made to happen, and ends when it is told to."""

import asyncio
import json
from collections.abc import Callable

import pytest

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request
from tests.support.embedded import CONFIG_MAPS, Talk, cluster, config, talk

ROOT = "kube-root-ca.crt"


async def filled() -> tuple[Cluster, Talk]:
    west = cluster()
    client = talk(west)
    for name in "abc":
        await client.create(CONFIG_MAPS, config(name))
    return west, client


async def test_a_rule_picks_requests_and_may_run_out() -> None:
    west, client = await filled()
    west.faults.add(effects.failing(503), lambda request: request.path.endswith("/a"), times=2)
    seen = [(await client.get(f"{CONFIG_MAPS}/{name}")).status for name in "aabaca"]
    assert seen == [503, 503, 200, 200, 200, 200]


async def test_the_rule_added_first_acts_first() -> None:
    west, client = await filled()
    west.faults.add(effects.failing(429, retry_after=3))
    west.faults.add(effects.failing(500))
    reply = await client.get(CONFIG_MAPS)
    assert (reply.status, reply.body["details"]["retryAfterSeconds"]) == (429, 3)
    west.faults.clear()
    assert (await client.get(CONFIG_MAPS)).status == 200


async def test_a_delay_takes_time() -> None:
    west, client = await filled()
    west.faults.add(effects.delayed(7))
    before = asyncio.get_running_loop().time()
    await client.get(CONFIG_MAPS)
    assert asyncio.get_running_loop().time() - before == pytest.approx(7)


async def test_a_hanging_request_waits_for_the_end_of_the_connection() -> None:
    west, client = await filled()
    west.faults.add(effects.hanging(west.faults))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await client.get(CONFIG_MAPS)
    asyncio.get_running_loop().call_later(5, west.faults.disconnect)
    with pytest.raises(Unreachable):
        await client.get(CONFIG_MAPS)


async def test_a_lost_answer_does_not_undo_the_write() -> None:
    west, client = await filled()
    west.faults.add(effects.lost_answer(), times=1)
    with pytest.raises(Unreachable):
        await client.create(CONFIG_MAPS, config("d"))
    assert (await client.get(f"{CONFIG_MAPS}/d")).status == 200


@pytest.mark.parametrize(
    "effect, items",
    [
        pytest.param(effects.empty_list, [], id="empty"),
        pytest.param(effects.null_items, None, id="null"),
        pytest.param(lambda: effects.partial_list(1), ["a"], id="partial"),
    ],
)
async def test_lists_can_be_wrong(effect: Callable[[], Effect], items: list[str] | None) -> None:
    west, client = await filled()
    west.faults.add(effect())
    found = (await client.get(CONFIG_MAPS)).body["items"]
    assert (found and [item["metadata"]["name"] for item in found]) == items


async def test_somebody_else_may_answer() -> None:
    west, client = await filled()
    west.faults.add(effects.answering(status=502))
    reply = await client.get(CONFIG_MAPS)
    assert (reply.status, reply.raw[:6]) == (502, b"<html>")


async def test_a_stale_server_knows_nothing_of_late() -> None:
    west, client = await filled()
    then = west.store.revision
    await client.create(CONFIG_MAPS, config("late"))
    await client.delete(f"{CONFIG_MAPS}/a")
    west.faults.add(effects.stale(then))
    stale = await client.get(CONFIG_MAPS)
    assert stale.names == ["a", "b", "c", ROOT]
    assert stale.body["metadata"]["resourceVersion"] == str(then)
    assert (await client.get(f"{CONFIG_MAPS}/late")).status == 404
    async with client.watch(CONFIG_MAPS, resourceVersion=str(then), timeoutSeconds="9") as events:
        assert await events.rest() == []


async def test_a_body_can_be_cut_anywhere() -> None:
    west, _ = await filled()
    west.faults.add(effects.cut(17))
    async with west.transport().send(Request(method="GET", path=CONFIG_MAPS)) as response:
        chunks = response.chunks()
        assert await anext(chunks) == b'{"kind":"ConfigMapList"'[:17]
        with pytest.raises(Unreachable):
            await anext(chunks)


async def test_a_silent_watch_neither_speaks_nor_ends() -> None:
    west, client = await filled()
    west.faults.add(effects.silent(west.faults, after=2))
    async with client.watch(CONFIG_MAPS, timeoutSeconds="60") as events:
        assert [await events.next(), await events.next()] == [("ADDED", "a"), ("ADDED", "b")]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await events.next()


@pytest.mark.parametrize(
    "change, names",
    [
        pytest.param(lambda lines: lines[1:], ["b", ROOT], id="dropped"),
        pytest.param(lambda lines: [*lines, *lines], [*"abab", "c", ROOT, "c", ROOT], id="doubled"),
        pytest.param(lambda lines: lines[::-1], ["b", "a", ROOT, "c"], id="swapped"),
    ],
)
async def test_events_can_be_changed(
    change: Callable[[list[bytes]], list[bytes]], names: list[str]
) -> None:
    west, client = await filled()
    west.faults.add(effects.events(change, batch=2))
    async with client.watch(CONFIG_MAPS, timeoutSeconds="9") as events:
        seen = await events.rest()
    assert [event["object"]["metadata"]["name"] for event in seen] == names


async def test_open_watches_break_and_new_ones_work() -> None:
    west, client = await filled()
    async with client.watch(CONFIG_MAPS, resourceVersion=str(west.store.revision)) as events:
        asyncio.get_running_loop().call_later(1, west.faults.disconnect)
        with pytest.raises(Unreachable):
            await events.next()
    async with client.watch(CONFIG_MAPS) as events:
        assert await events.next() == ("ADDED", "a")


async def test_a_stopped_cluster_refuses_connections_until_it_starts() -> None:
    west, client = await filled()
    west.faults.stop()
    with pytest.raises(Unreachable, match="refused"):
        await client.get(CONFIG_MAPS)
    west.faults.start()
    assert (await client.get(CONFIG_MAPS)).status == 200


async def test_a_restored_cluster_has_gone_back_in_time() -> None:
    west, client = await filled()
    backup = west.faults.snapshot()
    made = await client.create("/api/v1/namespaces/default/services", _service())
    west.faults.restore(backup)
    listed = await client.get(CONFIG_MAPS)
    assert int(listed.body["metadata"]["resourceVersion"]) == backup.revision
    again = await client.create("/api/v1/namespaces/default/services", _service())
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


def _service() -> dict[str, object]:
    return {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}


async def test_readers_share_nothing_with_the_store() -> None:
    _, client = await filled()
    seen = json.loads((await client.get(f"{CONFIG_MAPS}/a")).raw)
    seen["metadata"]["name"] = "changed"
    assert (await client.get(f"{CONFIG_MAPS}/a")).body["metadata"]["name"] == "a"


async def test_a_closed_transport_is_closed() -> None:
    transport = cluster().transport()
    await transport.close()
    with pytest.raises(Unreachable):
        await Talk(transport).get(CONFIG_MAPS)
