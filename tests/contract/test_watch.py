"""Watches: every change once, in order, from where the client stands; or a clear end."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import config, service
from tests.contract.server import Server

INITIAL_END = "k8s.io/initial-events-end"


def seen(event: JsonObject) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


async def test_a_watch_shows_each_change_from_its_version_on(server: Server) -> None:
    start = (await server.get("configmaps")).version
    made = (await server.create("configmaps", config("a"))).ok
    changed = (await server.merge("configmaps/a", {"data": {"colour": "blue"}})).ok
    async with server.watch("configmaps", resourceVersion=start, fieldSelector=A) as events:
        assert await events.next() == {"type": "ADDED", "object": made}
        assert await events.next() == {"type": "MODIFIED", "object": changed}
        await server.delete("configmaps/a")
        gone = await events.next()
        assert seen(gone) == ("DELETED", "a")
        assert gone["object"]["data"] == {"colour": "blue"}
        assert int(gone["object"]["metadata"]["resourceVersion"]) > int(
            changed["metadata"]["resourceVersion"]
        )


A = "metadata.name=a"


async def test_a_watch_resumes_from_an_event(server: Server) -> None:
    first = await server.create("configmaps", config("a", labels={"mine": "yes"}))
    await server.create("configmaps", config("b", labels={"mine": "yes"}))
    await server.create("configmaps", config("c", labels={"mine": "yes"}))
    async with server.watch(
        "configmaps", resourceVersion=first.version, labelSelector="mine"
    ) as events:
        assert await events.take(2) == [("ADDED", "b"), ("ADDED", "c")]


@pytest.mark.parametrize(
    "query",
    [pytest.param({}, id="unset"), pytest.param({"resourceVersion": "0"}, id="zero")],
)
async def test_a_watch_without_version_begins_with_what_exists(
    server: Server, query: dict[str, str]
) -> None:
    await server.create("configmaps", config("b", labels={"mine": "yes"}))
    await server.create("configmaps", config("a", labels={"mine": "yes"}))
    async with server.watch("configmaps", labelSelector="mine", **query) as events:
        assert sorted(await events.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        await server.create("configmaps", config("c", labels={"mine": "yes"}))
        assert await events.take(1) == [("ADDED", "c")]


async def test_an_object_that_leaves_the_selection_is_deleted_for_it(server: Server) -> None:
    await server.create("configmaps", config("a", labels={"colour": "red"}))
    start = (await server.get("configmaps")).version
    async with server.watch(
        "configmaps", resourceVersion=start, labelSelector="colour=red"
    ) as events:
        blue = await server.merge("configmaps/a", {"metadata": {"labels": {"colour": "blue"}}})
        left = await events.next()
        assert seen(left) == ("DELETED", "a")
        # The object is shown as it last matched, at the version at which it ceased to.
        assert left["object"]["metadata"]["labels"] == {"colour": "red"}
        assert left["object"]["metadata"]["resourceVersion"] == blue.version
        await server.merge("configmaps/a", {"data": {"ignored": "yes"}})
        back = await server.merge("configmaps/a", {"metadata": {"labels": {"colour": "red"}}})
        assert await events.next() == {"type": "ADDED", "object": back.ok}


async def test_one_object_can_be_watched(server: Server) -> None:
    start = (await server.get("configmaps")).version
    await server.create("configmaps", config("b"))
    await server.create("configmaps", config("a"))
    async with server.watch("configmaps", resourceVersion=start, fieldSelector=A) as events:
        assert await events.take(1) == [("ADDED", "a")]


async def test_a_watch_may_cover_all_namespaces(server: Server) -> None:
    start = (await server.get("/api/v1/configmaps")).version
    await server.create("configmaps", config("a", labels={"test": server.namespace}))
    async with server.watch(
        "/api/v1/configmaps", resourceVersion=start, labelSelector=f"test={server.namespace}"
    ) as events:
        assert (await events.next())["object"]["metadata"]["namespace"] == server.namespace


async def test_a_watch_sees_no_writes_that_changed_nothing(server: Server) -> None:
    made = await server.create("configmaps", config("a"))
    async with server.watch("configmaps", resourceVersion=made.version) as events:
        await server.replace("configmaps/a", made.ok)
        await server.create("configmaps", config("b"), dryRun="All")
        await server.create("configmaps", config("c"))
        while (event := seen(await events.next()))[1] == "kube-root-ca.crt":
            pass  # made by the server itself, in its own time
        assert event == ("ADDED", "c")


async def test_a_streamed_list_ends_with_a_marked_bookmark(server: Server) -> None:
    await server.create("configmaps", config("a", labels={"mine": "yes"}))
    newest = await server.create("configmaps", config("b", labels={"mine": "yes"}))
    async with server.watch(
        "configmaps",
        labelSelector="mine",
        sendInitialEvents=True,
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks=True,
    ) as events:
        assert await events.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        mark = await events.next()
        assert mark["type"] == "BOOKMARK"
        version = mark["object"]["metadata"]["resourceVersion"]
        assert mark["object"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": version, "annotations": {INITIAL_END: "true"}},
        }
        assert int(version) >= int(newest.version)
        await server.create("configmaps", config("c", labels={"mine": "yes"}))
        assert await events.take(1) == [("ADDED", "c")]


async def test_a_streamed_list_of_nothing_is_only_the_bookmark(server: Server) -> None:
    async with server.watch(
        "services",
        sendInitialEvents=True,
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks=True,
    ) as events:
        mark = await events.next()
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {INITIAL_END: "true"}


async def test_a_bookmark_comes_before_a_watch_ends(server: Server) -> None:
    start = (await server.get("services")).version
    async with server.watch(
        "services",
        resourceVersion=start,
        labelSelector="mine",
        allowWatchBookmarks=True,
        timeoutSeconds=3,
    ) as events:
        # Nothing to show, but a newer version to resume from.
        newer = await server.create("services", service())
        marks = await events.rest()
    assert {mark["type"] for mark in marks} == {"BOOKMARK"}
    for mark in marks:
        version = mark["object"]["metadata"]["resourceVersion"]
        assert mark["object"]["kind"] == "Service"
        assert mark["object"]["metadata"] == {"resourceVersion": version}
        assert int(version) >= int(newer.version)


async def test_a_watch_ends_cleanly_when_its_time_is_up(server: Server) -> None:
    start = (await server.get("services")).version
    async with server.watch("services", resourceVersion=start, timeoutSeconds=1) as events:
        assert await events.rest() == []


@pytest.mark.parametrize(
    "query, message",
    [
        pytest.param(
            {"sendInitialEvents": "true"},
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
            "resourceVersionMatch to NotOlderThan",
            id="no match",
        ),
        pytest.param(
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
            "resourceVersionMatch to NotOlderThan",
            id="exact match",
        ),
        pytest.param(
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
            "sendInitialEvents is provided",
            id="match alone",
        ),
    ],
)
async def test_inconsistent_wishes_are_refused(
    server: Server, query: dict[str, str], message: str
) -> None:
    reply = await server.get("configmaps", watch="true", timeoutSeconds=1, **query)
    code, reason, text = reply.refusal
    assert (code, reason) == (422, "Invalid")
    assert text.startswith('ListOptions.meta.k8s.io "" is invalid: ')
    assert message in text


async def test_a_version_must_be_a_number(server: Server) -> None:
    reply = await server.get("configmaps", watch="true", resourceVersion="now", timeoutSeconds=1)
    assert reply.refusal == (
        500,
        "",
        'resourceVersion: Invalid value: "now": strconv.ParseUint: parsing "now": invalid syntax',
    )


async def test_a_watch_waits_for_the_future(server: Server) -> None:
    async with server.watch("configmaps", resourceVersion="999999999", timeoutSeconds=1) as events:
        assert await events.rest() == []
