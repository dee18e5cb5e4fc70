"""What a server has forgotten: each way to ask for it, and what is said instead.

One test, because making a real server forget takes seconds.
"""

from tests.contract.objects import config
from tests.contract.server import Server


async def test_the_past_is_gone_and_the_present_is_not(server: Server) -> None:
    past, token = await begin(server)
    await server.compact()
    await a_watch_of_the_past_is_an_error_event(server, past)
    await an_exact_list_of_the_past_is_refused(server, past)
    await an_expired_token_comes_with_one_for_an_inconsistent_rest(server, token)
    await the_present_can_be_watched(server)


async def begin(server: Server) -> tuple[str, str]:
    """A version and a token that will soon be old."""
    for name in "abcde":
        await server.create("configmaps", config(name, labels={"mine": "yes"}))
    page = await server.get("configmaps", labelSelector="mine", limit=2)
    await server.delete("configmaps/c")
    return page.version, page.ok["metadata"]["continue"]


async def a_watch_of_the_past_is_an_error_event(server: Server, past: str) -> None:
    async with server.watch("configmaps", resourceVersion=past) as events:
        (event,) = await events.rest()
    assert event["type"] == "ERROR"
    status = event["object"]
    assert status["kind"] == "Status"
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith(f"too old resource version: {past} (")


async def an_exact_list_of_the_past_is_refused(server: Server, past: str) -> None:
    exactly = {"resourceVersion": past, "resourceVersionMatch": "Exact"}
    reply = await server.get("configmaps", **exactly)
    message = "The resourceVersion for the provided list is too old."
    assert reply.refusal == (410, "Expired", message)


async def an_expired_token_comes_with_one_for_an_inconsistent_rest(
    server: Server, token: str
) -> None:
    query = {"labelSelector": "mine", "limit": 2}
    expired = await server.get("configmaps", **query, **{"continue": token})
    assert expired.refusal == (
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list.",
    )
    other = expired.body["metadata"]["continue"]
    rest = await server.get("configmaps", **query, **{"continue": other})
    assert rest.names == ["d", "e"]


async def the_present_can_be_watched(server: Server) -> None:
    now = (await server.get("configmaps")).version
    async with server.watch("configmaps", resourceVersion=now, labelSelector="mine") as events:
        await server.create("configmaps", config("f", labels={"mine": "yes"}))
        assert await events.take(1) == [("ADDED", "f")]
