"""Custom kinds: from their definition to the end of their objects."""

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.contract.gadgets import definition, gadget, served
from tests.contract.objects import without_server_fields
from tests.contract.server import MERGE_PATCH, STRATEGIC_PATCH, Server
from tests.support.waiting import until


def conditions(found: JsonObject) -> dict[str, str]:
    return {c["type"]: c["status"] for c in found.get("status", {}).get("conditions") or []}


async def test_a_definition_is_established(server: Server) -> None:
    group = f"{server.namespace}.example.org"
    reply = await server.create("customresourcedefinitions", definition(group))
    assert reply.code == 201
    assert reply.ok["spec"]["names"] == {
        "plural": "gadgets",
        "singular": "gadget",
        "kind": "Gadget",
        "listKind": "GadgetList",
        "shortNames": ["gd"],
    }
    assert reply.ok["spec"]["conversion"] == {"strategy": "None"}
    assert reply.ok["metadata"]["generation"] == 1
    found = await until(
        lambda: server.get(f"customresourcedefinitions/gadgets.{group}"),
        lambda reply: conditions(reply.ok).get("Established") == "True",
        within=30,
    )
    assert conditions(found.ok) == {"NamesAccepted": "True", "Established": "True"}
    assert found.ok["status"]["acceptedNames"] == reply.ok["spec"]["names"]
    assert found.ok["status"]["storedVersions"] == ["v1"]


async def test_objects_of_a_custom_kind_are_pruned_and_filled_in(server: Server) -> None:
    await served(server)
    spec = {"port": 80, "unknown": 1, "free": {"any": [1]}, "nested": {}, "amount": "10%"}
    made = (await server.create("gadgets", gadget("one", spec))).ok
    assert without_server_fields(made) == gadget(
        "one",
        {
            "port": 80,
            "mode": "safe",
            "free": {"any": [1]},
            "nested": {"deep": True},
            "amount": "10%",
        },
        namespace=server.namespace,
    )
    assert made["metadata"]["generation"] == 1
    assert (await server.get("gadgets/one")).ok == made


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param({"mode": None}, {"mode": "safe"}, id="null gets the default"),
        pytest.param({"maybe": None}, {"mode": "safe", "maybe": None}, id="null where allowed"),
    ],
)
async def test_nulls(server: Server, spec: JsonObject, expected: JsonObject) -> None:
    await served(server)
    made = (await server.create("gadgets", gadget("one", {"port": 80, **spec}))).ok
    assert made["spec"] == {"port": 80, **expected}


@pytest.mark.parametrize(
    "spec, reason, field, message",
    [
        pytest.param(
            {"port": 70000},
            "FieldValueInvalid",
            "spec.port",
            "Invalid value: 70000: spec.port in body should be less than or equal to 65535",
            id="maximum",
        ),
        pytest.param(
            {"port": 0},
            "FieldValueInvalid",
            "spec.port",
            "Invalid value: 0: spec.port in body should be greater than or equal to 1",
            id="minimum",
        ),
        pytest.param({}, "FieldValueRequired", "spec.port", "Required value", id="required"),
        pytest.param(
            {"port": "80"},
            "FieldValueTypeInvalid",
            "spec.port",
            'Invalid value: "string": spec.port in body must be of type integer: "string"',
            id="type",
        ),
        pytest.param(
            {"port": 80, "mode": "odd"},
            "FieldValueNotSupported",
            "spec.mode",
            'Unsupported value: "odd": supported values: "fast", "safe"',
            id="enum",
        ),
        pytest.param(
            {"port": 80, "short": "lengthy"},
            "FieldValueTooLong",
            "spec.short",
            "Too long: may not be more than 5 bytes",
            id="length",
        ),
        pytest.param(
            {"port": 80, "short": "A"},
            "FieldValueInvalid",
            "spec.short",
            "Invalid value: \"A\": spec.short in body should match '^[a-z]+$'",
            id="pattern",
        ),
        pytest.param(
            {"port": 80, "tags": ["a", "a"]},
            "FieldValueDuplicate",
            "spec.tags[1]",
            'Duplicate value: "a"',
            id="set",
        ),
        pytest.param(
            {"port": 80, "tags": ["a", "b", "c", "d"]},
            "FieldValueTooMany",
            "spec.tags",
            "Too many: 4: must have at most 3 items",
            id="items",
        ),
        pytest.param(
            {"port": 80, "amount": True},
            "FieldValueTypeInvalid",
            "spec.amount",
            'Invalid value: "boolean": spec.amount in body must be of type integer,string: '
            '"boolean"',
            id="int or string",
        ),
        pytest.param(
            {"port": 80, "parts": [{"key": "a"}, {"key": "a"}]},
            "FieldValueDuplicate",
            "spec.parts[1]",
            'Duplicate value: {"key":"a"}',
            id="map keys",
        ),
        pytest.param(
            {"port": 80, "parts": [{"value": "a"}]},
            "FieldValueRequired",
            "spec.parts[0].key",
            "Required value",
            id="deep",
        ),
        pytest.param(
            "text",
            "FieldValueTypeInvalid",
            "spec",
            'Invalid value: "string": spec in body must be of type object: "string"',
            id="not an object",
        ),
    ],
)
async def test_schemas_are_enforced(
    server: Server, spec: Json, reason: str, field: str, message: str
) -> None:
    await served(server)
    reply = await server.create("gadgets", gadget("one", spec))
    assert reply.causes == [(reason, field, message)]
    assert reply.refusal == (
        422,
        "Invalid",
        f'Gadget.contract.example.org "one" is invalid: {field}: {message}',
    )
    assert reply.body["details"]["group"] == "contract.example.org"
    assert reply.body["details"]["kind"] == "Gadget"


async def test_strictness_refuses_what_would_be_pruned(server: Server) -> None:
    await served(server)
    body = gadget("one", {"port": 80, "unknown": 1})
    reply = await server.create("gadgets", body, fieldValidation="Strict")
    assert reply.refusal == (
        400,
        "BadRequest",
        'Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: unknown '
        'field "spec.unknown"',
    )


@pytest.mark.parametrize(
    "change, refusal",
    [
        pytest.param(
            {"apiVersion": "contract.example.org/v2"},
            (
                400,
                "BadRequest",
                "the API version in the data (contract.example.org/v2) does not match the "
                "expected API version (contract.example.org/v1)",
            ),
            id="version",
        ),
        pytest.param(
            {"kind": "Other"},
            (
                422,
                "Invalid",
                'Other.contract.example.org "one" is invalid: kind: Invalid value: "Other": must '
                "be Gadget",
            ),
            id="kind",
        ),
    ],
)
async def test_an_object_says_what_it_is(
    server: Server, change: JsonObject, refusal: tuple[int, str, str]
) -> None:
    await served(server)
    reply = await server.create("gadgets", {**gadget(), **change})
    assert reply.refusal == refusal


async def test_spec_and_status_have_different_writers(server: Server) -> None:
    await served(server)
    made = (await server.create("gadgets", {**gadget(), "status": {"ready": True}})).ok
    assert "status" not in made
    status = {"status": {"ready": True}, "spec": {"port": 99}}
    told = (await server.merge("gadgets/one/status", status)).ok
    assert (told["spec"], told["status"]) == (made["spec"], {"ready": True})
    assert told["metadata"]["generation"] == 1
    wish = {"status": {"ready": False}, "spec": {"port": 99}}
    moved = (await server.merge("gadgets/one", wish)).ok
    assert moved["spec"]["port"] == 99
    assert moved["status"] == {"ready": True}
    assert moved["metadata"]["generation"] == 2
    labelled = await server.merge("gadgets/one", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.ok["metadata"]["generation"] == 2


async def test_a_status_is_checked_too(server: Server) -> None:
    await served(server)
    await server.create("gadgets", gadget())
    reply = await server.merge("gadgets/one/status", {"status": {"ready": "yes"}})
    assert reply.causes[0][:2] == ("FieldValueTypeInvalid", "status.ready")


async def test_lists_of_custom_objects_name_their_kind(server: Server) -> None:
    await served(server)
    for name in ("b", "a"):
        await server.create("gadgets", gadget(name))
    reply = await server.get("gadgets")
    assert (reply.ok["kind"], reply.ok["apiVersion"]) == ("GadgetList", "contract.example.org/v1")
    assert reply.names == ["a", "b"]
    assert {item["kind"] for item in reply.ok["items"]} == {"Gadget"}


async def test_custom_objects_are_watched(server: Server) -> None:
    await served(server)
    start = (await server.get("gadgets")).version
    async with server.watch("gadgets", resourceVersion=start) as events:
        made = (await server.create("gadgets", gadget())).ok
        assert await events.next() == {"type": "ADDED", "object": made}
        await server.delete("gadgets/one")
        assert await events.take(1) == [("DELETED", "one")]


async def test_custom_objects_merge_plainly(server: Server) -> None:
    await served(server)
    await server.create("gadgets", gadget("one", {"port": 80, "tags": ["a"]}))
    patch = {"spec": {"tags": ["b"]}}
    reply = await server.call("PATCH", "gadgets/one", patch, kind=STRATEGIC_PATCH)
    assert reply.refusal == (
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
    reply = await server.call("PATCH", "gadgets/one", patch, kind=MERGE_PATCH)
    assert reply.ok["spec"]["tags"] == ["b"]


async def test_lists_with_keys_have_several_owners(server: Server) -> None:
    await served(server)
    for manager, key in (("one", "a"), ("two", "b")):
        body = gadget("one", {"port": 80, "parts": [{"key": key, "value": manager}]})
        await server.apply("gadgets/one", body, fieldManager=manager)
    reply = await server.get("gadgets/one")
    assert reply.ok["spec"]["parts"] == [
        {"key": "a", "value": "one"},
        {"key": "b", "value": "two"},
    ]


async def test_applying_unknown_fields_is_refused(server: Server) -> None:
    await served(server)
    reply = await server.apply("gadgets/one", gadget("one", {"port": 80, "unknown": 1}))
    assert reply.refusal == (
        500,
        "",
        "failed to create typed patch object (/one; contract.example.org/v1, Kind=Gadget): "
        ".spec.unknown: field not declared in schema",
    )


async def test_a_missing_object_of_a_custom_kind_is_named(server: Server) -> None:
    await served(server)
    reply = await server.get("gadgets/none")
    assert reply.refusal == (404, "NotFound", 'gadgets.contract.example.org "none" not found')


async def test_a_definition_takes_its_objects_along(server: Server) -> None:
    group = f"{server.namespace}.example.org"
    await served(server, group)
    where = f"/apis/{group}/v1/namespaces/{server.namespace}/gadgets"
    made = await server.create(where, gadget(group=group))
    async with server.watch(where, resourceVersion=made.version) as events:
        await server.delete(f"customresourcedefinitions/gadgets.{group}")
        assert await events.take(1) == [("DELETED", "one")]
    await until(
        lambda: server.get(f"customresourcedefinitions/gadgets.{group}"),
        lambda reply: reply.code == 404,
        within=30,
    )
    await until(lambda: server.get(where), lambda reply: reply.code == 404, within=30)


@pytest.mark.parametrize(
    "name, change, field, message",
    [
        pytest.param(
            "other.example.org",
            {},
            "metadata.name",
            'Invalid value: "other.example.org": must be spec.names.plural+"."+spec.group',
            id="name",
        ),
        pytest.param(
            "gadgets.bad.example.org",
            {"scope": "Other"},
            "spec.scope",
            'Unsupported value: "Other": supported values: "Cluster", "Namespaced"',
            id="scope",
        ),
        pytest.param(
            "gadgets.bad.example.org",
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "spec.versions[0].schema.openAPIV3Schema",
            "Required value",
            id="schema",
        ),
    ],
)
async def test_bad_definitions(
    server: Server, name: str, change: JsonObject, field: str, message: str
) -> None:
    body = definition("bad.example.org")
    body = {**body, "metadata": {"name": name}, "spec": {**body["spec"], **change}}
    reply = await server.create("customresourcedefinitions", body)
    assert reply.refusal == (
        422,
        "Invalid",
        f'CustomResourceDefinition.apiextensions.k8s.io "{name}" is invalid: {field}: {message}',
    )
