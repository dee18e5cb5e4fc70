"""Which state of the world a read shows: what ``resourceVersion`` asks for."""

import pytest

from tests.contract.objects import config
from tests.contract.server import Server

FUTURE = "999999999"


async def test_a_list_shows_the_past_when_asked_exactly(server: Server) -> None:
    made = await server.create("configmaps", config("a", labels={"mine": "yes"}))
    await server.create("configmaps", config("b", labels={"mine": "yes"}))
    await server.delete("configmaps/a")
    past = await server.get(
        "configmaps",
        labelSelector="mine",
        resourceVersion=made.version,
        resourceVersionMatch="Exact",
    )
    assert past.names == ["a"]
    assert past.version == made.version


@pytest.mark.parametrize(
    "match",
    [
        pytest.param({}, id="unset"),
        pytest.param({"resourceVersionMatch": "NotOlderThan"}, id="match"),
    ],
)
async def test_not_older_shows_at_least_that_version(server: Server, match: dict[str, str]) -> None:
    await server.create("configmaps", config("a", labels={"mine": "yes"}))
    newest = await server.create("configmaps", config("b", labels={"mine": "yes"}))
    reply = await server.get(
        "configmaps", labelSelector="mine", resourceVersion=newest.version, **match
    )
    assert reply.names == ["a", "b"]
    assert int(reply.version) >= int(newest.version)


async def test_any_version_will_do_for_zero(server: Server) -> None:
    reply = await server.get("configmaps", resourceVersion=0)
    assert reply.ok["kind"] == "ConfigMapList"
    assert reply.version.isdigit()


async def test_the_future_is_waited_for_and_then_refused(server: Server) -> None:
    reply = await server.get("configmaps", resourceVersion=FUTURE)
    code, reason, message = reply.refusal
    assert (code, reason) == (504, "Timeout")
    assert message.startswith(f"Timeout: Too large resource version: {FUTURE}, current: ")
    assert reply.causes == [("ResourceVersionTooLarge", "", "Too large resource version")]
    assert reply.body["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize(
    "query, message",
    [
        pytest.param(
            {"resourceVersionMatch": "Exact"},
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
            "resourceVersion is provided",
            id="no version",
        ),
        pytest.param(
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for '
            'resourceVersion "0"',
            id="exactly zero",
        ),
        pytest.param(
            {"resourceVersionMatch": "Newest", "resourceVersion": "1"},
            'resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", '
            '"NotOlderThan", ""',
            id="unknown match",
        ),
        pytest.param(
            {"sendInitialEvents": "true"},
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            id="a list has no events",
        ),
    ],
)
async def test_inconsistent_wishes_are_refused(
    server: Server, query: dict[str, str], message: str
) -> None:
    reply = await server.get("configmaps", **query)
    assert reply.refusal == (
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: {message}',
    )


async def test_a_version_must_be_a_number(server: Server) -> None:
    reply = await server.get("configmaps", resourceVersion="latest")
    assert reply.refusal == (
        400,
        "BadRequest",
        'invalid resource version: resourceVersion: Invalid value: "latest": strconv.ParseUint: '
        'parsing "latest": invalid syntax',
    )
