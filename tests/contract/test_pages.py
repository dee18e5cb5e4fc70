"""Lists in pages: one snapshot across all of them, until its history is gone."""

import pytest

from isthmus.model.wire import Json
from tests.contract.objects import config, secret
from tests.contract.server import Reply, Server


async def fill(server: Server, names: str = "abcde") -> None:
    for name in names:
        await server.create("configmaps", config(name, labels={"mine": "yes"}))


async def page(server: Server, **query: Json) -> Reply:
    return await server.get("configmaps", labelSelector="mine=yes", **query)


async def test_a_page_says_what_is_left_unless_a_selector_hides_it(server: Server) -> None:
    await fill(server)
    everything = await server.get("configmaps")
    first = await server.get("configmaps", limit=2)
    assert first.names == everything.names[:2]
    assert first.ok["metadata"]["remainingItemCount"] == len(everything.names) - 2
    assert first.ok["metadata"]["continue"]
    selected = await page(server, limit=2)
    assert selected.names == ["a", "b"]
    assert selected.ok["metadata"]["continue"]
    assert "remainingItemCount" not in selected.ok["metadata"]


async def test_the_last_page_has_no_token(server: Server) -> None:
    await fill(server)
    first = await page(server, limit=3)
    last = await page(server, limit=3, **{"continue": first.ok["metadata"]["continue"]})
    assert last.names == ["d", "e"]
    assert last.ok["metadata"].keys() == {"resourceVersion"}


async def test_a_page_as_long_as_the_list_is_the_last_one(server: Server) -> None:
    for name in "ab":
        await server.create("secrets", secret(name))
    only = await server.get("secrets", limit=2)
    assert only.names == ["a", "b"]
    assert "continue" not in only.ok["metadata"]


async def test_a_page_may_be_empty_though_a_token_led_to_it(server: Server) -> None:
    await fill(server, "ab")
    await server.create("configmaps", config("z"))
    full = await page(server, limit=2)
    assert full.names == ["a", "b"]
    empty = await page(server, limit=2, **{"continue": full.ok["metadata"]["continue"]})
    assert empty.ok["items"] == []
    assert "continue" not in empty.ok["metadata"]


async def test_later_pages_show_the_snapshot_of_the_first(server: Server) -> None:
    await fill(server)
    first = await page(server, limit=2)
    await server.delete("configmaps/c")
    await fill(server, "f")
    await server.merge("configmaps/d", {"data": {"colour": "blue"}})
    second = await page(server, limit=2, **{"continue": first.ok["metadata"]["continue"]})
    assert second.names == ["c", "d"]
    assert second.ok["items"][1]["data"] == {"colour": "red"}
    assert second.version == first.version
    third = await page(server, limit=2, **{"continue": second.ok["metadata"]["continue"]})
    assert third.names == ["e"]


async def test_the_limit_may_change_between_pages(server: Server) -> None:
    await fill(server)
    first = await page(server, limit=1)
    rest = await page(server, **{"continue": first.ok["metadata"]["continue"]})
    assert rest.names == list("bcde")


@pytest.mark.parametrize("token", ["nonsense", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"])
async def test_a_token_must_be_one_of_ours(server: Server, token: str) -> None:
    reply = await page(server, limit=2, **{"continue": token})
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    assert reply.body["message"].startswith("invalid continue token: continue key is not valid")


async def test_a_token_excludes_a_version(server: Server) -> None:
    await fill(server)
    first = await page(server, limit=2)
    token = first.ok["metadata"]["continue"]
    reply = await page(server, limit=2, resourceVersion=first.version, **{"continue": token})
    assert reply.refusal == (
        400,
        "BadRequest",
        "specifying resource version is not allowed when using continue",
    )
