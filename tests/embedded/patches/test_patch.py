"""Patches: RFC 6902, RFC 7396, and Kubernetes' strategic merge."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.kinds.crds import from_crd
from isthmus.embedded.patches import patch, strategic
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

KINDS = {kind.name: kind for kind in BUILTIN}
SERVICE = KINDS["Service"]
PORTS = {"spec.ports": ("port",), "finalizers": ()}

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), documents)


def service(**spec: Json) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "labels": {"a": "b"}},
        "spec": spec,
    }


WEB = service(ports=[{"port": 80, "name": "http"}, {"port": 443, "name": "https"}])


def patched(content_type: str, body: Json) -> JsonObject:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return patch.patched(SERVICE, content_type, WEB, raw)


@pytest.mark.parametrize(
    "operation, expected",
    [
        pytest.param({"op": "add", "path": "/spec/type", "value": "X"}, "X", id="add a member"),
        pytest.param({"op": "replace", "path": "/spec/type", "value": "X"}, "X", id="replace adds"),
        pytest.param({"op": "copy", "from": "/spec/none", "path": "/spec/type"}, None, id="copy"),
        pytest.param({"op": "add", "path": "/spec/type"}, None, id="without a value"),
        pytest.param({"op": "move", "from": "/kind", "path": "/spec/type"}, "Service", id="move"),
        pytest.param(
            {"op": "copy", "from": "/spec/ports/1/name", "path": "/spec/type"}, "https", id="copy"
        ),
    ],
)
def test_a_json_patch_sets_a_member(operation: JsonObject, expected: Json) -> None:
    assert patched(patch.JSON_PATCH, [operation])["spec"]["type"] == expected


@pytest.mark.parametrize(
    "path, numbers",
    [
        pytest.param("/spec/ports/0", [1, 80, 443], id="before the first"),
        pytest.param("/spec/ports/2", [80, 443, 1], id="after the last"),
        pytest.param("/spec/ports/-", [80, 443, 1], id="append"),
    ],
)
def test_a_json_patch_inserts_into_a_list(path: str, numbers: list[int]) -> None:
    done = patched(patch.JSON_PATCH, [{"op": "add", "path": path, "value": {"port": 1}}])
    assert [port["port"] for port in done["spec"]["ports"]] == numbers


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/kind", "value": "x"}, id="a failed test"),
        pytest.param({"op": "test", "path": "/spec/x", "value": 1}, id="a test of nothing"),
        pytest.param({"op": "remove", "path": "/spec/x"}, id="remove what is absent"),
        pytest.param({"op": "add", "path": "/x/y", "value": 1}, id="add below what is absent"),
        pytest.param({"op": "add", "path": "/spec/ports/9", "value": 1}, id="beyond the end"),
        pytest.param({"op": "remove", "path": "/spec/ports/x"}, id="not an index"),
        pytest.param({"op": "move", "from": "/x", "path": "/y"}, id="move what is absent"),
        pytest.param({"op": "frob", "path": "/kind"}, id="an unknown operation"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
        pytest.param({"op": "add", "path": "kind", "value": 1}, id="not a pointer"),
    ],
)
def test_a_json_patch_that_fails_is_unprocessable(operation: JsonObject) -> None:
    with pytest.raises(Refusal) as refusal:
        patched(patch.JSON_PATCH, [operation])
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")


def test_a_json_patch_escapes_slashes_and_tildes() -> None:
    operation = {"op": "add", "path": "/metadata/labels/a.io~1b~0c", "value": "x"}
    assert patched(patch.JSON_PATCH, [operation])["metadata"]["labels"]["a.io/b~c"] == "x"


@pytest.mark.parametrize(
    "content_type, body, code, message",
    [
        pytest.param(patch.JSON_PATCH, {}, 400, "cannot unmarshal object", id="json: an object"),
        pytest.param(patch.JSON_PATCH, [1], 400, "cannot unmarshal number", id="json: a number"),
        pytest.param(patch.MERGE_PATCH, b"{", 400, "unexpected end of JSON input", id="cut off"),
        pytest.param(patch.MERGE_PATCH, [], 400, "cannot unmarshal array", id="merge: a list"),
        pytest.param(patch.MERGE_PATCH, None, 400, "Invalid JSON Patch", id="merge: null"),
        pytest.param(patch.STRATEGIC_PATCH, [], 400, "cannot unmarshal array", id="a list"),
        pytest.param("application/json", {}, 415, "415: Unsupported Media Type", id="no patch"),
        pytest.param(
            patch.MERGE_PATCH,
            {"spec": {"ports": [{"port": "x"}]}},
            422,
            "cannot unmarshal string into Go struct field ServicePort.spec.ports.port of",
            id="a result of the wrong type",
        ),
        pytest.param(
            patch.STRATEGIC_PATCH,
            {"spec": {"ports": [{"name": "x"}]}},
            500,
            "map: map[name:x] does not contain declared merge key: port",
            id="strategic: no merge key",
        ),
        pytest.param(
            patch.STRATEGIC_PATCH,
            {"spec": {"$patch": "x"}},
            500,
            "unknown patch type: x in map: map[$patch:x]",
            id="strategic: unknown directive",
        ),
    ],
)
def test_a_broken_patch_is_refused(content_type: str, body: Json, code: int, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        patched(content_type, body)
    assert refusal.value.code == code
    assert message in refusal.value.message


def test_custom_resources_know_no_strategic_patch() -> None:
    version = {"name": "v1", "served": True, "storage": True}
    names = {"kind": "Thing", "plural": "things"}
    spec = {"group": "ex.io", "scope": "Cluster", "names": names, "versions": [version]}
    (thing,) = from_crd({"spec": spec})
    with pytest.raises(Refusal) as refusal:
        patch.patched(thing, patch.STRATEGIC_PATCH, {}, b"{}")
    assert refusal.value.code == 415


@pytest.mark.parametrize(
    "target, change, expected",
    [  # the examples of RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_its_rfc(target: Json, change: Json, expected: Json) -> None:
    assert patch.merge(target, change) == expected


@settings(max_examples=40)
@given(target=documents, change=documents)
def test_merging_twice_is_merging_once(target: Json, change: Json) -> None:
    once = patch.merge(target, change)
    assert patch.merge(once, change) == once


@settings(max_examples=40)
@given(target=objects, change=objects)
def test_a_merge_touches_only_what_it_mentions(target: JsonObject, change: JsonObject) -> None:
    done = patch.merge(target, change)
    for name in target.keys() - change.keys():
        assert done[name] == target[name]
    assert not [name for name in change if change[name] is None and name in done]


def ports(*numbers: int, **more: Json) -> JsonObject:
    return {"spec": {"ports": [{"port": number} for number in numbers]}, **more}


@pytest.mark.parametrize(
    "change, expected",
    [
        pytest.param(ports(3), [3, 1, 2], id="a new element goes first"),
        pytest.param(ports(2), [1, 2], id="a known one keeps its place"),
        pytest.param({"spec": {"ports": [{"port": 1, "$patch": "delete"}]}}, [2], id="delete"),
        pytest.param(
            {"spec": {"ports": [{"$patch": "replace"}, {"port": 9}]}}, [9], id="replace the list"
        ),
        pytest.param(
            {"spec": {"$setElementOrder/ports": [{"port": 2}, {"port": 1}]}}, [2, 1], id="reorder"
        ),
        pytest.param(
            {"spec": {"$setElementOrder/ports": [{"port": 1}, {"port": 3}], **ports(3)["spec"]}},
            [1, 3, 2],
            id="order a new one",
        ),
        pytest.param({"spec": {"$patch": "replace", **ports(5)["spec"]}}, [5], id="replace all"),
        pytest.param({"spec": {"$retainKeys": ["ports"]}}, [1, 2], id="retain"),
    ],
)
def test_strategic_merge_of_a_keyed_list(change: JsonObject, expected: list[int]) -> None:
    original = ports(1, 2)
    done = strategic.merged(original, change, PORTS)
    assert [port["port"] for port in done["spec"]["ports"]] == expected
    assert original == ports(1, 2)


@pytest.mark.parametrize(
    "change, expected",
    [
        pytest.param({"finalizers": ["c", "a"]}, ["b", "c", "a"], id="a union, patched ones last"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"], id="remove"),
        pytest.param({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"], id="reorder"),
        pytest.param({"finalizers": None}, None, id="null removes it"),
    ],
)
def test_strategic_merge_of_a_set(change: JsonObject, expected: list[str] | None) -> None:
    done = strategic.merged({"finalizers": ["a", "b"]}, change, PORTS)
    if expected is None:
        assert "finalizers" not in done
    else:
        assert sorted(done["finalizers"]) == sorted(expected)


@pytest.mark.parametrize("order", [1.5, None, "80", [80], [None]])
def test_an_order_that_is_none_is_refused(order: Json) -> None:
    change = {"spec": {"$setElementOrder/ports": order, "ports": [{"port": 80}]}}
    with pytest.raises(Refusal, match="invalid patch format of setElementOrder list"):
        strategic.merged(ports(80, 443), change, PORTS)


@pytest.mark.parametrize("kind", [patch.MERGE_PATCH, patch.JSON_PATCH])
def test_a_patch_without_a_bottom_is_refused(kind: str) -> None:
    with pytest.raises(Refusal, match="exceeded max depth"):
        patch.patched(SERVICE, kind, WEB, b"[" * 100_000)


def test_retained_keys_drop_the_others() -> None:
    original = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}
    change = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert strategic.merged(original, change, {}) == {"strategy": {"type": "Recreate"}}


def test_unnamed_lists_are_replaced() -> None:
    assert strategic.merged({"args": [1, 2]}, {"args": [3]}, {}) == {"args": [3]}


port_lists = st.lists(st.integers(1, 9), unique=True, max_size=5)


@settings(max_examples=40)
@given(port_lists)
def test_patching_an_object_with_itself_changes_nothing(numbers: list[int]) -> None:
    whole = ports(*numbers)
    assert strategic.merged(whole, whole, PORTS) == whole


@settings(max_examples=40)
@given(port_lists, port_lists)
def test_a_strategic_patch_keeps_every_element(old: list[int], new: list[int]) -> None:
    done = strategic.merged(ports(*old), ports(*new), PORTS)
    found = [port["port"] for port in done["spec"]["ports"]]
    assert sorted(found) == sorted({*old, *new})
    assert [one for one in found if one in new] == new
    assert strategic.merged(done, ports(*new), PORTS) == done
