"""Server-side apply: each manager owns the fields it has applied, and no others."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import config, service
from tests.contract.server import Server

FORCE = {"force": "true"}


def owners(found: JsonObject) -> dict[str, tuple[str, JsonObject]]:
    """Manager to operation and fields; times are left out."""
    return {
        entry["manager"]: (entry["operation"], entry["fieldsV1"])
        for entry in found["metadata"]["managedFields"]
    }


async def test_applying_creates_then_changes_nothing(server: Server) -> None:
    first = await server.apply("configmaps/settings", config())
    assert first.code == 201
    (entry,) = first.ok["metadata"]["managedFields"]
    assert {key: value for key, value in entry.items() if key != "time"} == {
        "manager": "contract",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:colour": {}}},
    }
    again = await server.apply("configmaps/settings", config())
    assert again.code == 200
    assert again.ok == first.ok


async def test_a_field_that_is_no_longer_applied_goes(server: Server) -> None:
    await server.apply("configmaps/settings", config(data={"a": "1", "b": "2"}, labels={"x": "y"}))
    reply = await server.apply("configmaps/settings", config(data={"b": "2"}))
    assert reply.ok["data"] == {"b": "2"}
    assert "labels" not in reply.ok["metadata"]


async def test_a_field_of_another_manager_is_a_conflict(server: Server) -> None:
    await server.apply("configmaps/settings", config(), fieldManager="one")
    blue = config(data={"colour": "blue"})
    reply = await server.apply("configmaps/settings", blue, fieldManager="two")
    assert reply.refusal == (
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "one": .data.colour',
    )
    assert reply.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one"',
            "field": ".data.colour",
        }
    ]
    forced = await server.apply("configmaps/settings", blue, fieldManager="two", **FORCE)
    assert forced.ok["data"] == {"colour": "blue"}
    assert owners(forced.ok) == {"two": ("Apply", {"f:data": {"f:colour": {}}})}


async def test_conflicts_with_several_managers_are_all_named(server: Server) -> None:
    await server.apply("configmaps/settings", config(data={"a": "1"}), fieldManager="one")
    await server.apply("configmaps/settings", config(data={"b": "1"}), fieldManager="two")
    both = config(data={"a": "2", "b": "2"})
    reply = await server.apply("configmaps/settings", both, fieldManager="three")
    assert reply.refusal == (
        409,
        "Conflict",
        'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n'
        'conflicts with "two":\n- .data.b',
    )


async def test_a_field_of_an_ordinary_writer_is_a_conflict_too(server: Server) -> None:
    await server.create("configmaps", config(), fieldManager="writer")
    reply = await server.apply("configmaps/settings", config(data={"colour": "blue"}))
    code, reason, message = reply.refusal
    assert (code, reason) == (409, "Conflict")
    assert message == (
        'Apply failed with 1 conflict: conflict with "writer" using v1: .data.colour'
    )


async def test_the_same_value_is_owned_together(server: Server) -> None:
    await server.apply("configmaps/settings", config(), fieldManager="one")
    shared = await server.apply("configmaps/settings", config(), fieldManager="two")
    assert owners(shared.ok).keys() == {"one", "two"}
    left = await server.apply("configmaps/settings", config(data={}), fieldManager="one")
    assert left.ok["data"] == {"colour": "red"}
    assert owners(left.ok) == {
        "one": ("Apply", {"f:data": {}}),
        "two": ("Apply", {"f:data": {"f:colour": {}}}),
    }
    gone = await server.apply("configmaps/settings", config(data={}), fieldManager="two")
    assert not gone.ok.get("data")


async def test_managers_share_an_object_without_touching_each_other(server: Server) -> None:
    await server.apply("configmaps/settings", config(data={"a": "1"}), fieldManager="one")
    await server.apply("configmaps/settings", config(data={"b": "2"}), fieldManager="two")
    reply = await server.apply("configmaps/settings", config(data={"a": "3"}), fieldManager="one")
    assert reply.ok["data"] == {"a": "3", "b": "2"}


async def test_an_ordinary_write_takes_what_it_changes(server: Server) -> None:
    await server.apply("configmaps/settings", config(data={"a": "1", "b": "2"}))
    reply = await server.merge("configmaps/settings", {"data": {"a": "3"}}, fieldManager="writer")
    assert owners(reply.ok) == {
        "contract": ("Apply", {"f:data": {"f:b": {}}}),
        "writer": ("Update", {"f:data": {"f:a": {}}}),
    }


async def test_ports_are_merged_by_port_and_protocol(server: Server) -> None:
    one = service("web", {"ports": [{"name": "http", "port": 80, "protocol": "TCP"}]})
    two = service("web", {"ports": [{"name": "admin", "port": 81, "protocol": "TCP"}]})
    await server.apply("services/web", one, fieldManager="one")
    reply = await server.apply("services/web", two, fieldManager="two")
    assert [p["port"] for p in reply.ok["spec"]["ports"]] == [80, 81]
    assert owners(reply.ok)["two"][1] == {
        "f:spec": {
            "f:ports": {
                'k:{"port":81,"protocol":"TCP"}': {
                    ".": {},
                    "f:name": {},
                    "f:port": {},
                    "f:protocol": {},
                }
            }
        }
    }
    fewer = service("web", {"ports": []})
    reply = await server.apply("services/web", fewer, fieldManager="two")
    assert [p["port"] for p in reply.ok["spec"]["ports"]] == [80]


async def test_a_key_of_a_list_may_come_from_its_default(server: Server) -> None:
    reply = await server.apply("services/web", service("web", {"ports": [{"port": 80}]}))
    (port,) = owners(reply.ok)["contract"][1]["f:spec"]["f:ports"]
    assert port == 'k:{"port":80,"protocol":"TCP"}'


async def test_keys_in_a_list_must_differ(server: Server) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 80}]
    reply = await server.apply("services/web", service("web", {"ports": ports}))
    assert reply.refusal == (
        500,
        "",
        "failed to create typed patch object (/web; /v1, Kind=Service): .spec.ports: duplicate "
        'entries for key [port=80,protocol="TCP"]',
    )


async def test_labels_and_annotations_are_owned_one_by_one(server: Server) -> None:
    await server.apply("configmaps/settings", config(labels={"a": "1"}), fieldManager="one")
    await server.apply("configmaps/settings", config(labels={"b": "2"}), fieldManager="two")
    reply = await server.apply("configmaps/settings", config(), fieldManager="one")
    assert reply.ok["metadata"]["labels"] == {"b": "2"}


async def test_status_is_applied_on_its_own_path(server: Server) -> None:
    await server.apply("services/web", service())
    ingress: JsonObject = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
    # The main path ignores a status, and gives no ownership of it.
    reply = await server.apply("services/web", {**service(), "status": ingress})
    assert reply.ok["status"] == {"loadBalancer": {}}
    assert "f:status" not in owners(reply.ok)["contract"][1]


@pytest.mark.parametrize(
    "change, message",
    [
        pytest.param({"apiVersion": None}, "invalid object type: /, Kind=ConfigMap", id="version"),
        pytest.param({"kind": None}, "invalid object type: /v1, Kind=", id="no kind"),
        pytest.param({"kind": "Secret"}, "invalid object type: /v1, Kind=Secret", id="other kind"),
        pytest.param(
            {"metadata": {"name": "settings", "managedFields": [{}]}},
            "metadata.managedFields must be nil",
            id="managed fields",
        ),
        pytest.param(
            {"metadata": {"name": "other"}},
            "the name of the object (other) does not match the name on the URL (settings)",
            id="other name",
        ),
    ],
)
async def test_an_applied_object_says_what_it_is(
    server: Server, change: JsonObject, message: str
) -> None:
    body = {key: value for key, value in {**config(), **change}.items() if value is not None}
    reply = await server.apply("configmaps/settings", body)
    assert reply.refusal == (400, "BadRequest", message)


async def test_applying_needs_a_manager(server: Server) -> None:
    reply = await server.apply("configmaps/settings", config(), fieldManager="")
    assert reply.refusal == (
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: '
        "is required for apply patch",
    )


async def test_applying_with_a_stale_version_conflicts(server: Server) -> None:
    first = await server.apply("configmaps/settings", config())
    await server.apply("configmaps/settings", config(data={"colour": "blue"}))
    stale = config(data={"colour": "green"}, resourceVersion=first.version)
    reply = await server.apply("configmaps/settings", stale)
    assert reply.refusal[:2] == (409, "Conflict")
    assert "the object has been modified" in reply.body["message"]


async def test_applying_with_a_uid_never_creates(server: Server) -> None:
    wish = config(uid="11111111-2222-3333-4444-555555555555")
    reply = await server.apply("configmaps/settings", wish)
    assert reply.refusal == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "settings": uid mismatch: the provided object '
        "specified uid 11111111-2222-3333-4444-555555555555, and no existing object was found",
    )
    assert (await server.get("configmaps/settings")).code == 404


async def test_a_dry_run_applies_nothing(server: Server) -> None:
    reply = await server.apply("configmaps/settings", config(), dryRun="All")
    assert reply.ok["data"] == {"colour": "red"}
    assert (await server.get("configmaps/settings")).code == 404


def without_bookkeeping(found: JsonObject) -> JsonObject:
    kept = {
        key: value
        for key, value in found["metadata"].items()
        if key not in ("managedFields", "resourceVersion")
    }
    return {**found, "metadata": kept}


@pytest.mark.parametrize("manager", ["contract", "another"])
async def test_a_dry_run_of_what_is_there_answers_with_what_is_there(
    server: Server, manager: str
) -> None:
    for where, made in (("configmaps/settings", config()), ("services/web", service("web"))):
        first = await server.apply(where, made)
        again = await server.apply(where, made, dryRun="All", fieldManager=manager)
        assert without_bookkeeping(again.ok) == without_bookkeeping(first.ok)
        assert (await server.get(where)).ok == first.ok


async def test_only_apply_may_be_forced(server: Server) -> None:
    await server.create("configmaps", config())
    reply = await server.merge("configmaps/settings", {"data": {}}, **FORCE)
    assert reply.refusal == (
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: '
        "may not be specified for non-apply patch",
    )
