"""The three kinds of patch that change an object in place."""

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.contract.objects import config, deployment, service
from tests.contract.server import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server

DATA = {"colour": "red", "size": "1"}


@pytest.mark.parametrize(
    "operations, data",
    [
        pytest.param(
            [{"op": "add", "path": "/data/a", "value": "b"}], {**DATA, "a": "b"}, id="add"
        ),
        pytest.param([{"op": "remove", "path": "/data/size"}], {"colour": "red"}, id="remove"),
        pytest.param(
            [{"op": "replace", "path": "/data/size", "value": "2"}],
            {"colour": "red", "size": "2"},
            id="replace",
        ),
        pytest.param(
            [{"op": "move", "from": "/data/size", "path": "/data/a"}],
            {"colour": "red", "a": "1"},
            id="move",
        ),
        pytest.param(
            [{"op": "copy", "from": "/data/size", "path": "/data/a"}], {**DATA, "a": "1"}, id="copy"
        ),
        pytest.param(
            [
                {"op": "test", "path": "/data/size", "value": "1"},
                {"op": "replace", "path": "/data/colour", "value": "blue"},
            ],
            {"colour": "blue", "size": "1"},
            id="test holds",
        ),
        pytest.param([{"op": "add", "path": "/data/a~1b", "value": "c"}], None, id="escaped slash"),
        pytest.param([], DATA, id="nothing"),
    ],
)
async def test_json_patches(
    server: Server, operations: list[JsonObject], data: JsonObject | None
) -> None:
    await server.create("configmaps", config(data=DATA))
    reply = await server.call("PATCH", "configmaps/settings", operations, kind=JSON_PATCH)
    if data is None:
        assert reply.causes[0][:2] == ("FieldValueInvalid", "data[a/b]")
    else:
        assert reply.ok["data"] == data
        assert (await server.get("configmaps/settings")).ok == reply.ok


@pytest.mark.parametrize(
    "operations, refusal",
    [
        pytest.param(
            [{"op": "test", "path": "/data/size", "value": "9"}],
            (422, "Invalid", "the server rejected our request due to an error in our request"),
            id="test fails",
        ),
        pytest.param(
            [{"op": "remove", "path": "/data/none"}],
            (422, "Invalid", "the server rejected our request due to an error in our request"),
            id="nothing to remove",
        ),
        pytest.param(
            [{"op": "jump", "path": "/data/none"}],
            (422, "Invalid", "the server rejected our request due to an error in our request"),
            id="unknown operation",
        ),
    ],
)
async def test_json_patches_that_fail_change_nothing(
    server: Server, operations: Json, refusal: tuple[int, str, str]
) -> None:
    made = await server.create("configmaps", config(data=DATA))
    reply = await server.call("PATCH", "configmaps/settings", operations, kind=JSON_PATCH)
    assert reply.refusal == refusal
    assert (await server.get("configmaps/settings")).ok == made.ok


@pytest.mark.parametrize("kind", [MERGE_PATCH, STRATEGIC_PATCH])
@pytest.mark.parametrize(
    "patch, data",
    [
        pytest.param({"data": {"a": "b"}}, {**DATA, "a": "b"}, id="add"),
        pytest.param({"data": {"size": None}}, {"colour": "red"}, id="null deletes"),
        pytest.param({"data": None}, None, id="null deletes everything"),
        pytest.param({"data": {"size": "2"}}, {"colour": "red", "size": "2"}, id="replace"),
        pytest.param({}, DATA, id="nothing"),
    ],
)
async def test_merge_patches_of_maps(
    server: Server, kind: str, patch: JsonObject, data: JsonObject | None
) -> None:
    await server.create("configmaps", config(data=DATA))
    reply = await server.call("PATCH", "configmaps/settings", patch, kind=kind)
    assert reply.ok.get("data") == data


PORTS = [
    {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
    {"name": "admin", "port": 81, "targetPort": 81, "protocol": "TCP"},
]


@pytest.mark.parametrize(
    "kind, ports, expected",
    [
        pytest.param(
            MERGE_PATCH,
            [{"name": "new", "port": 82}],
            [("new", 82, 82)],
            id="merge replaces lists",
        ),
        pytest.param(
            STRATEGIC_PATCH,
            [{"port": 80, "targetPort": 9090}],
            [("http", 80, 9090), ("admin", 81, 81)],
            id="strategic merges by key",
        ),
        pytest.param(
            STRATEGIC_PATCH,
            [{"name": "new", "port": 82}],
            [("new", 82, 82), ("http", 80, 8080), ("admin", 81, 81)],
            id="strategic adds",
        ),
        pytest.param(
            STRATEGIC_PATCH,
            [{"port": 80, "$patch": "delete"}],
            [("admin", 81, 81)],
            id="strategic deletes",
        ),
        pytest.param(
            STRATEGIC_PATCH,
            [{"$patch": "replace"}, {"name": "new", "port": 82}],
            [("new", 82, 82)],
            id="strategic replaces",
        ),
    ],
)
async def test_lists_of_ports(
    server: Server, kind: str, ports: list[JsonObject], expected: list[tuple[str, int, int]]
) -> None:
    await server.create("services", service("web", {"ports": PORTS}))
    reply = await server.call("PATCH", "services/web", {"spec": {"ports": ports}}, kind=kind)
    found = [(p["name"], p["port"], p["targetPort"]) for p in reply.ok["spec"]["ports"]]
    assert found == expected


async def test_strategic_patches_merge_deeply(server: Server) -> None:
    await server.create("deployments", deployment())
    containers = [{"name": "main", "env": [{"name": "A", "value": "1"}]}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await server.call("PATCH", "deployments/front", patch, kind=STRATEGIC_PATCH)
    containers[0]["env"] = [{"name": "B", "value": "2"}]
    reply = await server.call("PATCH", "deployments/front", patch, kind=STRATEGIC_PATCH)
    (container,) = reply.ok["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.org/main:1"
    assert container["env"] == [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]


async def test_finalizers_are_merged_as_a_set(server: Server) -> None:
    await server.create("configmaps", config(finalizers=["example.org/a"]))
    patch: JsonObject = {"metadata": {"finalizers": ["example.org/b"]}}
    reply = await server.call("PATCH", "configmaps/settings", patch, kind=STRATEGIC_PATCH)
    assert sorted(reply.ok["metadata"]["finalizers"]) == ["example.org/a", "example.org/b"]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.org/a"]}}
    reply = await server.call("PATCH", "configmaps/settings", patch, kind=STRATEGIC_PATCH)
    assert reply.ok["metadata"]["finalizers"] == ["example.org/b"]
    reply = await server.merge("configmaps/settings", {"metadata": {"finalizers": None}})
    assert "finalizers" not in reply.ok["metadata"]


async def test_other_kinds_of_patch_are_not_supported(server: Server) -> None:
    await server.create("configmaps", config())
    reply = await server.call("PATCH", "configmaps/settings", {}, kind=JSON)
    assert reply.refusal == (415, "UnsupportedMediaType", "415: Unsupported Media Type")


@pytest.mark.parametrize(
    "metadata, refusal",
    [
        pytest.param(
            {"name": "other"},
            (
                400,
                "BadRequest",
                "the name of the object (other) does not match the name on the URL (settings)",
            ),
            id="name",
        ),
        pytest.param(
            {"namespace": "other"},
            (
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the "
                "request",
            ),
            id="namespace",
        ),
        pytest.param(
            {"uid": "other"},
            (
                422,
                "Invalid",
                'ConfigMap "settings" is invalid: metadata.uid: Invalid value: "other": '
                "field is immutable",
            ),
            id="uid",
        ),
    ],
)
async def test_identity_cannot_be_patched(
    server: Server, metadata: JsonObject, refusal: tuple[int, str, str]
) -> None:
    await server.create("configmaps", config())
    reply = await server.merge("configmaps/settings", {"metadata": metadata})
    assert reply.refusal == refusal


async def test_a_patch_must_leave_a_valid_object(server: Server) -> None:
    made = await server.create("services", service())
    reply = await server.merge("services/web", {"spec": {"ports": [{"port": 0}]}})
    assert reply.code == 422
    assert ("FieldValueInvalid", "spec.ports[0].port") in [cause[:2] for cause in reply.causes]
    assert (await server.get("services/web")).ok == made.ok
