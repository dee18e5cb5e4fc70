"""Lists and watches show consistent states, whatever happens meanwhile."""

import asyncio
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.cluster import Cluster
from isthmus.kube.transport import Request
from tests.support.embedded import CONFIG_MAPS, SERVICES, Talk, cluster, config, service, talk
from tests.support.virtual import VirtualLoop

ROOT = "kube-root-ca.crt"


async def test_pages_show_the_state_of_the_first_page() -> None:
    client = talk(cluster())
    for name in "abcd":
        await client.create(CONFIG_MAPS, config(name))
    first = (await client.get(CONFIG_MAPS, limit="2")).body
    assert first["metadata"]["remainingItemCount"] == 3
    await client.delete(f"{CONFIG_MAPS}/c")
    await client.create(CONFIG_MAPS, config("bb"))
    second = await client.get(CONFIG_MAPS, limit="9", **{"continue": first["metadata"]["continue"]})
    assert second.names == ["c", "d", ROOT]
    assert second.body["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


async def test_an_expired_page_offers_to_go_on_inconsistently() -> None:
    west = cluster()
    client = talk(west)
    for name in "abcd":
        await client.create(CONFIG_MAPS, config(name))
    token = (await client.get(CONFIG_MAPS, limit="2")).body["metadata"]["continue"]
    await client.create(CONFIG_MAPS, config("bb"))
    west.faults.compact()
    expired = await client.get(CONFIG_MAPS, **{"continue": token})
    assert (expired.status, expired.body["reason"]) == (410, "Expired")
    rest = await client.get(CONFIG_MAPS, **{"continue": expired.body["metadata"]["continue"]})
    assert rest.names == ["bb", "c", "d", ROOT]


async def test_a_watch_goes_on_from_where_a_list_ended() -> None:
    client = talk(cluster())
    await client.create(CONFIG_MAPS, config("old"))
    version = (await client.get(CONFIG_MAPS)).body["metadata"]["resourceVersion"]
    async with client.watch(CONFIG_MAPS, resourceVersion=version) as events:
        await client.create(CONFIG_MAPS, config("new"))
        await client.merge(f"{CONFIG_MAPS}/new", {"data": {"x": "y"}})
        await client.delete(f"{CONFIG_MAPS}/new")
        seen = [await events.next() for _ in range(3)]
    assert seen == [("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "new")]


async def test_a_selector_turns_changes_into_coming_and_going() -> None:
    client = talk(cluster())
    await client.create(CONFIG_MAPS, config("it"))
    async with client.watch(CONFIG_MAPS, labelSelector="in=yes") as events:
        for label in ("yes", "yes", "no"):
            labels = {"metadata": {"labels": {"in": label}, "annotations": {"l": label}}}
            await client.merge(f"{CONFIG_MAPS}/it", labels)
            await client.merge(f"{CONFIG_MAPS}/it", {"data": {label: label}})
        seen = [await events.next() for _ in range(3)]
    assert seen == [("ADDED", "it"), ("MODIFIED", "it"), ("DELETED", "it")]


async def test_other_namespaces_are_not_shown() -> None:
    client = talk(cluster())
    async with client.watch(SERVICES, resourceVersion="0") as events:
        assert await events.next() == ("ADDED", "kubernetes")
        await client.create("/api/v1/namespaces/kube-system/services", service("dns"))
        await client.create(SERVICES, service("web"))
        assert await events.next() == ("ADDED", "web")


async def test_a_version_that_is_gone_ends_the_watch_with_an_error_event() -> None:
    west = cluster()
    west.faults.compact()
    async with talk(west).watch(CONFIG_MAPS, resourceVersion="1") as events:
        (event,) = await events.rest()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert event["object"]["reason"] == "Expired"


async def test_compaction_does_not_disturb_a_running_watch() -> None:
    west = cluster()
    client = talk(west)
    async with client.watch(CONFIG_MAPS, resourceVersion=str(west.store.revision)) as events:
        asyncio.get_running_loop().call_later(5, west.faults.compact)
        await asyncio.sleep(10)
        await client.create(CONFIG_MAPS, config("new"))
        assert await events.next() == ("ADDED", "new")


async def test_bookmarks_come_every_minute_and_move_on() -> None:
    west = cluster()
    client = talk(west)
    start = west.store.revision
    await client.create(SERVICES, service("elsewhere"))
    async with client.watch(
        CONFIG_MAPS,
        resourceVersion=str(start),
        allowWatchBookmarks="true",
        timeoutSeconds="150",
    ) as events:
        marks = await events.rest()
    assert [mark["type"] for mark in marks] == ["BOOKMARK"] * 3  # at 60, 120 and 148 seconds
    assert {mark["object"]["metadata"]["resourceVersion"] for mark in marks} == {
        str(west.store.revision)
    }


async def test_no_bookmark_comes_where_nothing_has_moved_on() -> None:
    """So a watch on a cluster at rest is silent until it ends, as it is on a real one."""
    west = cluster()
    async with talk(west).watch(
        CONFIG_MAPS,
        resourceVersion=str(west.store.revision),
        allowWatchBookmarks="true",
        timeoutSeconds="150",
    ) as events:
        assert await events.rest() == []


async def test_a_bookmark_passes_over_nothing_that_came_while_a_slow_reader_was_told() -> None:
    west = cluster()
    client = talk(west)
    async with client.watch(
        CONFIG_MAPS,
        resourceVersion=str(west.store.revision),
        allowWatchBookmarks="true",
        timeoutSeconds="150",
    ) as events:
        await client.create(CONFIG_MAPS, config("one"))
        assert await events.next() == ("ADDED", "one")
        await client.create(CONFIG_MAPS, config("two"))
        await asyncio.sleep(70)  # the first bookmark is overdue when it reads on
        assert await events.next() == ("ADDED", "two")


async def test_the_end_of_the_initial_objects_is_marked() -> None:
    client = talk(cluster())
    async with client.watch(
        CONFIG_MAPS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds="1",
    ) as events:
        first, mark = await events.rest()
    assert first["type"] == "ADDED"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_without_a_timeout_ends_within_the_hour() -> None:
    west = cluster()
    clock = asyncio.get_running_loop().time
    before = clock()
    async with talk(west).watch(CONFIG_MAPS, resourceVersion=str(west.store.revision)) as events:
        assert await events.rest() == []
    assert 1800 <= clock() - before <= 3600


@pytest.mark.parametrize("shape", ["Table", "PartialObjectMetadataList"])
async def test_other_shapes_of_a_list_come_on_request(shape: str) -> None:
    accept = f"application/json;as={shape};v=v1;g=meta.k8s.io"
    request = Request(method="GET", path=SERVICES, headers={"accept": accept})
    async with cluster().transport().send(request) as response:
        body = json.loads(b"".join([chunk async for chunk in response.chunks()]))
    assert (body["kind"], body["apiVersion"]) == (shape, "meta.k8s.io/v1")
    assert len(body["rows" if shape == "Table" else "items"]) == 1


names = st.sampled_from("abcdef")
steps = st.lists(st.tuples(st.sampled_from(["put", "delete", "compact"]), names), max_size=12)


@settings(max_examples=40)
@given(before=steps, after=steps)
def test_list_and_watch_lead_to_the_present(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    async def scenario() -> None:
        west = Cluster("west", random=Random(1))
        client = talk(west)
        await _live(west, client, before)
        listed = (await client.get(CONFIG_MAPS)).body
        state = {item["metadata"]["name"]: item["metadata"] for item in listed["items"]}
        version = listed["metadata"]["resourceVersion"]
        async with (
            client.watch(CONFIG_MAPS, resourceVersion=version, timeoutSeconds="5") as events,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(_live(west, client, after))
            seen = group.create_task(events.rest())
        for event in seen.result():
            metadata = event["object"]["metadata"]
            if event["type"] == "DELETED":
                del state[metadata["name"]]
            else:
                state[metadata["name"]] = metadata
        final = (await client.get(CONFIG_MAPS)).body["items"]
        assert state == {item["metadata"]["name"]: item["metadata"] for item in final}

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(scenario())


async def _live(west: Cluster, client: Talk, lived: list[tuple[str, str]]) -> None:
    for number, (what, name) in enumerate(lived):
        match what:
            case "put" if (await client.get(f"{CONFIG_MAPS}/{name}")).status == 404:
                await client.create(CONFIG_MAPS, config(name))
            case "put":
                await client.merge(f"{CONFIG_MAPS}/{name}", {"data": {"n": str(number)}})
            case "delete":
                await client.delete(f"{CONFIG_MAPS}/{name}")
            case _:
                west.faults.compact()


@pytest.mark.parametrize("option", ["limit", "timeoutSeconds", "resourceVersion"])
@pytest.mark.parametrize("digits", [23, 5000])
async def test_a_number_that_is_too_large_is_refused(option: str, digits: int) -> None:
    refused = await talk(cluster()).get(CONFIG_MAPS, **{option: "9" * digits})
    assert refused.status == 400
    assert "value out of range" in refused.body["message"]
