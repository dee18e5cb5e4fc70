"""Server-side apply and field ownership. The expectations were read off kube-apiserver 1.36."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds import admission
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.patches import apply
from isthmus.embedded.patches.apply import FieldManager
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject
from tests.embedded.patches.writers import updater, who

KINDS = {kind.name: kind for kind in BUILTIN}
SERVICE = KINDS["Service"]


PORT_80 = 'k:{"port":80,"protocol":"TCP"}'


def service(labels: JsonObject | None = None, **spec: Json) -> JsonObject:
    metadata: JsonObject = {"name": "web", "namespace": "default"}
    if labels is not None:
        metadata["labels"] = labels
    whole: JsonObject = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return {**whole, "spec": spec} if spec else whole


def applied(current: JsonObject | None, patch: JsonObject, manager: FieldManager) -> JsonObject:
    done = admission.filled(SERVICE, apply.applied(SERVICE, current, patch, manager))
    return done if current is None else apply.settled(current, done)


def owned(obj: JsonObject) -> dict[str, JsonObject]:
    return {
        entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields") or []
    }


WEB = applied(None, service({"x": "y"}, ports=[{"port": 80}]), who("one"))


def test_an_applier_owns_what_it_says_and_no_defaults() -> None:
    assert owned(WEB) == {
        "one": {
            "f:metadata": {"f:labels": {"f:x": {}}},
            "f:spec": {"f:ports": {PORT_80: {".": {}, "f:port": {}}}},
        }
    }
    assert WEB["spec"]["sessionAffinity"] == "None"


def test_a_creator_owns_what_it_says_and_the_defaults() -> None:
    made = admission.filled(SERVICE, service(ports=[{"port": 80}]))
    done = apply.tracked(SERVICE, None, made, updater("creator"))
    assert done["metadata"]["managedFields"] == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:internalTrafficPolicy": {},
                    "f:ports": {
                        ".": {},
                        PORT_80: {".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}},
                    },
                    "f:sessionAffinity": {},
                    "f:type": {},
                }
            },
        }
    ]


def test_applying_again_changes_nothing_not_even_the_time() -> None:
    again = applied(WEB, service({"x": "y"}, ports=[{"port": 80}]), who("one", after=9))
    assert again == WEB


def test_a_second_applier_of_the_same_values_shares_them_without_a_time() -> None:
    shared = applied(WEB, service(ports=[{"port": 80}]), who("two", after=9))
    two = next(e for e in shared["metadata"]["managedFields"] if e["manager"] == "two")
    assert "time" not in two
    assert shared["spec"] == WEB["spec"]


def test_a_conflict_names_the_owner_and_the_field() -> None:
    named = applied(WEB, service(ports=[{"port": 80, "name": "web"}]), who("two"))
    with pytest.raises(Refusal) as refusal:
        applied(named, service(ports=[{"port": 80, "name": "http"}]), who("one"))
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    path = '.spec.ports[port=80,protocol="TCP"].name'
    assert refusal.value.message == (f'Apply failed with 1 conflict: conflict with "two": {path}')
    (cause,) = refusal.value.causes
    assert (cause.reason, cause.message, cause.field) == (
        "FieldManagerConflict",
        'conflict with "two"',
        path,
    )


def test_several_conflicts_are_listed_by_owner() -> None:
    other = apply.tracked(
        SERVICE, WEB, {**WEB, "spec": {**WEB["spec"], "type": "NodePort"}}, updater("kubectl")
    )
    with pytest.raises(Refusal) as refusal:
        applied(other, service({"x": "z"}, type="LoadBalancer"), who("two"))
    assert refusal.value.message == (
        'Apply failed with 2 conflicts: conflicts with "kubectl" using v1:\n- .spec.type\n'
        'conflicts with "one":\n- .metadata.labels.x'
    )


def test_force_takes_the_field_over() -> None:
    taken = applied(WEB, service({"x": "z"}), who("two", force=True))
    assert taken["metadata"]["labels"] == {"x": "z"}
    assert "f:metadata" not in owned(taken)["one"]
    assert owned(taken)["two"] == {"f:metadata": {"f:labels": {"f:x": {}}}}


def test_what_an_applier_no_longer_says_goes_away() -> None:
    done = applied(WEB, service(ports=[{"port": 80}]), who("one"))
    assert "labels" not in done["metadata"]


def test_what_somebody_else_owns_stays() -> None:
    shared = applied(WEB, service({"x": "y"}), who("two"))
    done = applied(shared, service(ports=[{"port": 80}]), who("one"))
    assert done["metadata"]["labels"] == {"x": "y"}
    assert owned(done)["two"] == {"f:metadata": {"f:labels": {"f:x": {}}}}


def test_a_dropped_list_element_goes_with_its_defaults() -> None:
    two = applied(WEB, service(ports=[{"port": 80}, {"port": 81}]), who("one"))
    one = applied(two, service(ports=[{"port": 81}]), who("one"))
    assert [port["port"] for port in one["spec"]["ports"]] == [81]


def test_keyed_elements_of_two_appliers_meet_in_one_list() -> None:
    both = applied(WEB, service(ports=[{"port": 90, "protocol": "UDP"}]), who("two"))
    assert [port["port"] for port in both["spec"]["ports"]] == [80, 90]


def test_an_update_takes_what_it_changes_from_its_owners() -> None:
    changed = {**WEB, "metadata": {**WEB["metadata"], "labels": {"x": "z", "n": "1"}}}
    done = apply.tracked(SERVICE, WEB, changed, updater("edit"))
    assert owned(done)["edit"] == {"f:metadata": {"f:labels": {"f:n": {}, "f:x": {}}}}
    assert "f:metadata" not in owned(done)["one"]


def test_an_update_of_nothing_leaves_no_trace() -> None:
    assert apply.tracked(SERVICE, WEB, WEB, updater("edit", after=9)) == WEB


def test_a_removed_field_has_no_owner() -> None:
    gone = {**WEB, "metadata": {"name": "web", "namespace": "default"}}
    done = apply.tracked(SERVICE, WEB, gone, updater("edit"))
    assert owned(done) == {"one": {"f:spec": {"f:ports": {PORT_80: {".": {}, "f:port": {}}}}}}


def test_a_status_write_owns_status_alone() -> None:
    changed = {**WEB, "spec": {"type": "X"}, "status": {"conditions": [{"type": "Ready"}]}}
    done = apply.tracked(SERVICE, WEB, changed, updater("status", subresource="status"))
    entry = next(e for e in done["metadata"]["managedFields"] if e["manager"] == "status")
    assert entry["subresource"] == "status"
    assert list(entry["fieldsV1"]) == ["f:status"]


def test_owners_can_be_forgotten_and_come_back_with_the_next_apply() -> None:
    reset = {**WEB, "metadata": {**WEB["metadata"], "managedFields": [{}]}}
    bare = apply.tracked(SERVICE, WEB, reset, updater("edit"))
    assert owned(bare) == {}
    again = applied(bare, service({"x": "y"}), who("one"))
    assert set(owned(again)) == {"one", "before-first-apply"}


def test_many_updaters_are_folded_into_one() -> None:
    obj = WEB
    for number in range(15):
        labels = {**obj["metadata"]["labels"], f"l{number}": "x"}
        changed = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
        obj = apply.tracked(SERVICE, obj, changed, updater(f"u{number}", after=number))
    updaters = [e for e in obj["metadata"]["managedFields"] if e["operation"] == "Update"]
    assert len(updaters) == 10
    assert updaters[0]["manager"] == "ancient-changes"


def test_kubectl_may_take_over_what_it_applied_from_the_client_side() -> None:
    note = (
        '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"type":"NodePort"}}'
    )
    made = service(type="NodePort", ports=[{"port": 80}])
    made["metadata"]["annotations"] = {apply.LAST_APPLIED: note}
    live = apply.tracked(SERVICE, None, made, updater("kubectl-client-side-apply"))
    taken = apply.applied(SERVICE, live, service(type="ClusterIP"), who("kubectl"))
    assert taken["spec"]["type"] == "ClusterIP"
    with pytest.raises(Refusal):
        apply.applied(SERVICE, live, service(type="ClusterIP"), who("other"))


@pytest.mark.parametrize(
    "patch, code, message",
    [
        pytest.param({}, 400, "invalid object type: /, Kind=", id="neither version nor kind"),
        pytest.param({"apiVersion": "v1"}, 400, "invalid object type: /v1, Kind=", id="no kind"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Service"},
            400,
            "invalid object type: apps/v1, Kind=Service",
            id="another group",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"managedFields": []}},
            400,
            "metadata.managedFields must be nil",
            id="managed fields",
        ),
        pytest.param(
            service(foo=1),
            500,
            "failed to create typed patch object (default/web; /v1, Kind=Service): "
            ".spec.foo: field not declared in schema",
            id="an unknown field",
        ),
        pytest.param(
            service(ports=[{"port": 1}, {"port": 1}]),
            500,
            "failed to create typed patch object (default/web; /v1, Kind=Service): "
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
            id="two elements of one key",
        ),
    ],
)
def test_what_cannot_be_applied(patch: JsonObject, code: int, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        apply.applied(SERVICE, None, patch, who("one"))
    assert (refusal.value.code, refusal.value.message) == (code, message)


def test_a_write_that_only_moves_a_time_is_settled() -> None:
    entry = {**WEB["metadata"]["managedFields"][0], "time": "2027-01-01T00:00:00Z"}
    later = {**WEB, "metadata": {**WEB["metadata"], "managedFields": [entry]}}
    assert apply.settled(WEB, later) is WEB
    other = {**later, "spec": {}}
    assert apply.settled(WEB, other) is other


@pytest.mark.parametrize(
    "field_manager, user_agent, name",
    [
        ("me", "kubectl/v1.36 (linux)", "me"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "a\x00b/1", "ab"),
    ],
)
def test_managers_are_named_by_themselves_or_their_program(
    field_manager: str, user_agent: str, name: str
) -> None:
    assert apply.manager_name(field_manager, user_agent) == name


words = st.sampled_from("xy")


labels = st.none() | st.dictionaries(st.sampled_from("abc"), words, max_size=3)


ports = st.lists(
    st.fixed_dictionaries({"port": st.integers(1, 3)}, optional={"name": words}),
    min_size=1,
    max_size=3,
    unique_by=lambda port: port["port"],
)


documents = st.builds(service, labels, ports=ports, sessionAffinity=st.sampled_from(["None"]))


@settings(max_examples=40)
@given(first=documents, second=documents)
def test_applying_twice_is_applying_once(first: JsonObject, second: JsonObject) -> None:
    live = applied(None, first, who("one"))
    once = applied(live, second, who("two", force=True))
    twice = applied(once, second, who("two", force=True, after=60))
    assert twice == once


@settings(max_examples=40)
@given(first=documents, second=documents)
def test_the_last_word_of_a_single_applier_holds(first: JsonObject, second: JsonObject) -> None:
    changed = applied(applied(None, first, who("one")), second, who("one"))
    fresh = applied(None, second, who("one"))
    assert {key: changed[key] for key in ("spec", "metadata")} == {
        key: fresh[key] for key in ("spec", "metadata")
    } | {"spec": {**fresh["spec"], "ports": changed["spec"]["ports"]}}
    by_port = {port["port"]: port for port in changed["spec"]["ports"]}
    assert by_port == {port["port"]: port for port in fresh["spec"]["ports"]}


@settings(max_examples=40)
@given(mine=documents, theirs=documents)
def test_dropping_a_field_spares_what_others_own(mine: JsonObject, theirs: JsonObject) -> None:
    live = applied(None, mine, who("one"))
    live = applied(live, theirs, who("two", force=True))
    rest = applied(live, service(), who("one"))
    alone = applied(None, theirs, who("two"))
    assert rest["metadata"].get("labels") == alone["metadata"].get("labels")
    assert {port["port"] for port in rest["spec"]["ports"]} == {
        port["port"] for port in alone["spec"]["ports"]
    }
