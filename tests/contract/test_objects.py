"""Create, read, replace, delete: what every client relies on, whatever the kind."""

import re

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.contract.objects import (
    config,
    deployment,
    lease,
    namespace,
    rbac,
    secret,
    service,
    slice_of,
    without_server_fields,
)
from tests.contract.server import Server

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
CHANGED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


async def test_a_created_object_comes_back_with_what_the_server_adds(server: Server) -> None:
    reply = await server.create("configmaps", config())
    assert reply.code == 201
    assert reply.headers["content-type"] == "application/json"
    metadata = reply.ok["metadata"]
    assert UUID.fullmatch(metadata["uid"])
    assert TIME.fullmatch(metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["namespace"] == server.namespace
    assert without_server_fields(reply.ok) == config(namespace=server.namespace)
    assert (await server.get("configmaps/settings")).ok == reply.ok


async def test_a_name_is_given_once(server: Server) -> None:
    await server.create("services", service("web"))
    reply = await server.create("services", service("web"))
    assert reply.refusal == (409, "AlreadyExists", 'services "web" already exists')
    assert reply.body["details"] == {"name": "web", "kind": "services"}


@pytest.mark.parametrize(
    "where, message, details",
    [
        pytest.param(
            "services/web",
            'services "web" not found',
            {"name": "web", "kind": "services"},
            id="core group",
        ),
        pytest.param(
            "endpointslices/web",
            'endpointslices.discovery.k8s.io "web" not found',
            {"name": "web", "group": "discovery.k8s.io", "kind": "endpointslices"},
            id="another group",
        ),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
async def test_a_missing_object_is_named(
    server: Server, where: str, message: str, details: JsonObject, method: str
) -> None:
    body: Json = {"metadata": {}} if method == "PATCH" else None
    reply = await server.call(method, where, body, kind="application/merge-patch+json")
    assert reply.refusal == (404, "NotFound", message)
    assert reply.body["details"] == details


@pytest.mark.parametrize(
    "where, made, code",
    [
        pytest.param("configmaps/settings", config(), 404, id="ConfigMap"),
        pytest.param("secrets/keys", secret(), 404, id="Secret"),
        pytest.param("endpointslices/web-1", slice_of(), 404, id="EndpointSlice"),
        pytest.param("deployments/front", deployment(), 404, id="Deployment"),
        pytest.param("services/web", service(), 201, id="Service"),
        pytest.param("leases/leader", lease(), 201, id="Lease"),
        pytest.param("roles/reader", rbac("Role", "reader", rules=[]), 201, id="Role"),
    ],
)
async def test_only_some_kinds_may_be_created_by_replacing_them(
    server: Server, where: str, made: JsonObject, code: int
) -> None:
    assert (await server.replace(where, made)).code == code
    assert (await server.get(where)).code == (200 if code == 201 else 404)


async def test_creating_with_a_resource_version_is_refused(server: Server) -> None:
    reply = await server.create("configmaps", config(resourceVersion="1"))
    assert reply.refusal == (
        500,
        "",
        "resourceVersion should not be set on objects to be created",
    )


async def test_a_stale_version_does_not_win(server: Server) -> None:
    first = (await server.create("services", service())).ok
    newer = await server.merge("services/web", {"metadata": {"labels": {"a": "b"}}})
    reply = await server.replace("services/web", first)
    assert reply.refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on services "web": {CHANGED}',
    )
    assert reply.body["details"] == {"name": "web", "kind": "services"}
    assert (await server.get("services/web")).ok == newer.ok


async def test_a_conflict_names_the_group_of_the_kind(server: Server) -> None:
    first = (await server.create("endpointslices", slice_of())).ok
    await server.merge("endpointslices/web-1", {"metadata": {"labels": {"a": "b"}}})
    reply = await server.replace("endpointslices/web-1", first)
    assert reply.refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on endpointslices.discovery.k8s.io "web-1": {CHANGED}',
    )


async def test_a_patch_with_a_stale_version_conflicts(server: Server) -> None:
    first = await server.create("configmaps", config())
    await server.merge("configmaps/settings", {"data": {"colour": "blue"}})
    patch = {"metadata": {"resourceVersion": first.version}, "data": {"colour": "green"}}
    reply = await server.merge("configmaps/settings", patch)
    assert reply.refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on configmaps "settings": {CHANGED}',
    )


async def test_a_replacement_without_version_always_wins(server: Server) -> None:
    await server.create("configmaps", config())
    reply = await server.replace("configmaps/settings", config(data={"colour": "blue"}))
    assert reply.code == 200
    assert reply.ok["data"] == {"colour": "blue"}


async def test_a_replacement_of_another_object_of_that_name_conflicts(server: Server) -> None:
    await server.create("configmaps", config())
    stranger = "11111111-2222-3333-4444-555555555555"
    reply = await server.replace("configmaps/settings", config(uid=stranger))
    uid = (await server.get("configmaps/settings")).ok["metadata"]["uid"]
    assert reply.refusal == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "settings": StorageError: invalid object, '
        f"Code: 4, Key: /registry/configmaps/{server.namespace}/settings, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {stranger}, "
        f"UID in object meta: {uid}",
    )


async def test_a_write_that_changes_nothing_keeps_the_version(server: Server) -> None:
    created = await server.create("services", service())
    replaced = await server.replace("services/web", created.ok)
    patched = await server.merge("services/web", {"metadata": {"labels": None}})
    assert replaced.ok == patched.ok == created.ok


async def test_versions_grow_across_kinds(server: Server) -> None:
    replies = [
        await server.create("configmaps", config()),
        await server.create("services", service()),
        await server.merge("configmaps/settings", {"data": {"colour": "blue"}}),
    ]
    versions = [int(reply.version) for reply in replies]
    assert versions == sorted(set(versions))


async def test_what_the_server_owns_cannot_be_written(server: Server) -> None:
    created = (await server.create("deployments", deployment())).ok
    wish = {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 99}
    changed = {**created, "metadata": {**created["metadata"], **wish}}
    reply = await server.replace("deployments/front", changed)
    assert reply.ok["metadata"] == created["metadata"]


async def test_a_deletion_time_cannot_be_written(server: Server) -> None:
    await server.create("configmaps", config())
    past = "2001-01-01T00:00:00Z"
    reply = await server.merge("configmaps/settings", {"metadata": {"deletionTimestamp": past}})
    assert reply.code == 422
    assert set(reply.causes) == {
        (
            "FieldValueInvalid",
            "metadata.deletionTimestamp",
            f'Invalid value: "{past}": field is immutable',
        )
    }


async def test_generated_names_start_as_wished(server: Server) -> None:
    wish = {**config(), "metadata": {"generateName": "part-"}}
    first, second = [(await server.create("configmaps", wish)).ok for _ in range(2)]
    for made in (first, second):
        assert re.fullmatch(r"part-[bcdfghjklmnpqrstvwxz2456789]{5}", made["metadata"]["name"])
        assert made["metadata"]["generateName"] == "part-"
    assert first["metadata"]["name"] != second["metadata"]["name"]


async def test_a_name_is_required(server: Server) -> None:
    reply = await server.create("configmaps", {**config(), "metadata": {}})
    assert reply.refusal == (
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )
    assert reply.causes == [
        ("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")
    ]


async def test_a_dry_run_answers_and_stores_nothing(server: Server) -> None:
    created = await server.create("configmaps", config(), dryRun="All")
    assert created.code == 201
    assert UUID.fullmatch(created.ok["metadata"]["uid"])
    assert "resourceVersion" not in created.ok["metadata"]
    assert (await server.get("configmaps/settings")).code == 404

    kept = await server.create("configmaps", config())
    patched = await server.merge("configmaps/settings", {"data": {"a": "b"}}, dryRun="All")
    assert patched.ok["data"] == {"a": "b", "colour": "red"}
    deleted = await server.call("DELETE", "configmaps/settings", dryRun="All")
    assert deleted.code == 200
    assert (await server.get("configmaps/settings")).ok == kept.ok


async def test_an_unknown_dry_run_is_refused(server: Server) -> None:
    reply = await server.create("configmaps", config(), dryRun="Some")
    assert reply.refusal == (
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: '
        'supported values: "All"',
    )


async def test_delete_says_what_went(server: Server) -> None:
    created = (await server.create("configmaps", config())).ok
    reply = await server.delete("configmaps/settings")
    assert reply.code == 200
    assert reply.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "settings", "kind": "configmaps", "uid": created["metadata"]["uid"]},
    }
    assert (await server.get("configmaps/settings")).code == 404


async def test_delete_of_a_service_answers_with_the_object(server: Server) -> None:
    created = (await server.create("services", service())).ok
    reply = await server.delete("services/web")
    assert (reply.code, reply.body["kind"]) == (200, "Service")
    assert reply.body["metadata"]["uid"] == created["metadata"]["uid"]


@pytest.mark.parametrize(
    "precondition, wrong, word, guess",
    [
        pytest.param(
            "uid",
            "11111111-2222-3333-4444-555555555555",
            "UID",
            "deleted and then recreated",
            id="uid",
        ),
        pytest.param("resourceVersion", "1", "ResourceVersion", "modified", id="version"),
    ],
)
async def test_delete_heeds_preconditions(
    server: Server, precondition: str, wrong: str, word: str, guess: str
) -> None:
    created = (await server.create("services", service())).ok
    found = created["metadata"][precondition]
    reply = await server.delete("services/web", {"preconditions": {precondition: wrong}})
    assert reply.refusal == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on Service "web": the {word} in the precondition '
        f"({wrong}) does not match the {word} in record ({found}). "
        f"The object might have been {guess}",
    )
    assert (await server.get("services/web")).code == 200
    held = {"preconditions": {precondition: found}}
    assert (await server.delete("services/web", held)).code == 200
    assert (await server.get("services/web")).code == 404


async def test_a_collection_can_be_deleted_by_label(server: Server) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await server.create("configmaps", config(name, labels={"colour": colour}))
    reply = await server.call("DELETE", "configmaps", labelSelector="colour=red")
    assert reply.ok["kind"] == "ConfigMapList"
    left = await server.get("configmaps", labelSelector="colour")
    assert left.names == ["b"]


async def test_a_namespace_must_exist(server: Server) -> None:
    reply = await server.create("/api/v1/namespaces/nowhere/configmaps", config())
    assert reply.refusal == (404, "NotFound", 'namespaces "nowhere" not found')


async def test_a_namespace_gets_its_label_and_phase(server: Server) -> None:
    name = server.unique("made")
    reply = await server.create("namespaces", namespace(name))
    assert reply.ok["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert reply.ok["spec"] == {"finalizers": ["kubernetes"]}
    assert reply.ok["status"] == {"phase": "Active"}


async def test_secrets_get_a_type_and_keep_it(server: Server) -> None:
    made = (await server.create("secrets", {**secret(), "stringData": {"user": "anna"}})).ok
    assert made["type"] == "Opaque"
    assert made["data"] == {"password": "aHVudGVyMg==", "user": "YW5uYQ=="}
    assert "stringData" not in made
    reply = await server.merge("secrets/keys", {"type": "kubernetes.io/tls"})
    assert reply.causes[0][:2] == ("FieldValueInvalid", "type")
    assert "field is immutable" in reply.body["message"]


@pytest.mark.parametrize("where, made", [("configmaps", config()), ("secrets", secret())])
async def test_immutable_content_stays(server: Server, where: str, made: JsonObject) -> None:
    name = made["metadata"]["name"]
    await server.create(where, {**made, "immutable": True})
    reply = await server.merge(f"{where}/{name}", {"data": {"more": "aGk="}})
    kind = made["kind"]
    assert reply.refusal == (
        422,
        "Invalid",
        f'{kind} "{name}" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
