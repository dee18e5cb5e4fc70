"""Custom resources: schemas prune, default and judge; definitions are judged themselves."""

import pytest

from isthmus.embedded.kinds import admission, jsonpath
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.kinds.crds import from_crd
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.patches import apply
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject
from tests.embedded.patches.writers import updater, who

CRD = next(kind for kind in BUILTIN if kind.name == "CustomResourceDefinition")
PROPERTIES: JsonObject = {
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "when": {"type": "string", "format": "date-time"},
    "wait": {"type": "string", "format": "duration"},
    "either": {"x-kubernetes-int-or-string": True},
    "maybe": {"type": "string", "nullable": True},
    "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "map": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": {"type": "string"}, "v": {"type": "integer", "default": 7}},
        },
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "deep": {
        "type": "object",
        "default": {},
        "properties": {"x": {"type": "integer", "default": 3}},
    },
    "one": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
}


def definition(**spec: Json) -> JsonObject:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "required": ["port"], "properties": PROPERTIES},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version: JsonObject = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "things", "kind": "Thing", "shortNames": ["th"]}
    whole = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.ex.io"},
        "spec": {**whole, **spec},
    }


(THING,) = from_crd(definition())


def thing(**spec: Json) -> JsonObject:
    return {
        "apiVersion": "ex.io/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "namespace": "default"},
        "spec": {"port": 1, **spec},
    }


def complaints(kind: Kind, obj: JsonObject) -> list[tuple[str, str]]:
    try:
        admission.admit(kind, obj, None)
    except Refusal as refusal:
        return [(cause.field, cause.message) for cause in refusal.causes]
    return []


def test_a_definition_becomes_a_kind() -> None:
    assert (THING.api_version, THING.plural, THING.singular) == ("ex.io/v1", "things", "thing")
    assert THING.has_status
    assert THING.has_generation
    assert THING.short_names == ("th",)


def test_only_served_versions_are_kinds_and_the_stored_one_is_first() -> None:
    versions = [
        {"name": "v1", "served": True, "storage": False},
        {"name": "v2", "served": True, "storage": True},
        {"name": "v0", "served": False, "storage": False},
    ]
    assert [kind.version for kind in from_crd(definition(versions=versions))] == ["v2", "v1"]


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param({}, {"port": 1, "mode": "a", "deep": {"x": 3}}, id="defaults"),
        pytest.param({"unknown": 1, "deep": {"y": 1}}, {"deep": {"x": 3}}, id="pruned"),
        pytest.param({"map": [{"k": "a", "z": 1}]}, {"map": [{"k": "a", "v": 7}]}, id="in lists"),
        pytest.param({"free": {"a": {"b": None}}}, {"free": {"a": {"b": None}}}, id="preserved"),
        pytest.param({"texts": {"a": "b"}}, {"texts": {"a": "b"}}, id="free keys"),
        pytest.param({"mode": None}, {"mode": "a"}, id="null is absent"),
        pytest.param({"maybe": None}, {"maybe": None}, id="null is allowed"),
        pytest.param({"port": 2.0}, {"port": 2}, id="2.0 is 2"),
    ],
)
def test_objects_are_pruned_and_completed(spec: JsonObject, expected: JsonObject) -> None:
    done = admission.admit(THING, thing(**spec), None)["spec"]
    assert {name: done.get(name) for name in expected} == expected
    assert "unknown" not in done


@pytest.mark.parametrize(
    "spec, field, message",
    [
        (
            {"port": 0},
            "port",
            "Invalid value: 0: spec.port in body should be greater than or equal to 1",
        ),
        (
            {"port": 70000},
            "port",
            "Invalid value: 70000: spec.port in body should be less than or equal to 65535",
        ),
        (
            {"port": "x"},
            "port",
            'Invalid value: "string": spec.port in body must be of type integer: "string"',
        ),
        (
            {"name": "a"},
            "name",
            'Invalid value: "a": spec.name in body should be at least 2 chars long',
        ),
        ({"name": "abcdef"}, "name", "Too long: may not be more than 5 bytes"),
        (
            {"name": "AB"},
            "name",
            "Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'",
        ),
        ({"mode": "c"}, "mode", 'Unsupported value: "c": supported values: "a", "b"'),
        (
            {"when": "x"},
            "when",
            'Invalid value: "x": spec.when in body must be of type date-time: "x"',
        ),
        (
            {"wait": "x"},
            "wait",
            'Invalid value: "x": spec.wait in body must be of type duration: "x"',
        ),
        (
            {"either": True},
            "either",
            'Invalid value: "boolean": spec.either in body must be of type integer,string: '
            '"boolean"',
        ),
        (
            {"items": []},
            "items",
            "Invalid value: 0: spec.items in body should have at least 1 items",
        ),
        ({"items": ["a"] * 3}, "items", "Too many: 3: must have at most 2 items"),
        (
            {"items": [1]},
            "items[0]",
            'Invalid value: "integer": spec.items[0] in body must be of type string: "integer"',
        ),
        ({"set": ["a", "a"]}, "set[1]", 'Duplicate value: "a"'),
        ({"map": [{"k": "a"}, {"k": "a"}]}, "map[1]", 'Duplicate value: {"k":"a"}'),
        ({"map": [{"v": 1}]}, "map[0].k", "Required value"),
        (
            {"texts": {"a": 1}},
            "texts.a",
            'Invalid value: "integer": spec.texts.a in body must be of type string: "integer"',
        ),
    ],
)
def test_objects_are_judged(spec: JsonObject, field: str, message: str) -> None:
    assert complaints(THING, thing(**spec)) == [(f"spec.{field}", message)]


def test_exactly_one_alternative_holds() -> None:
    one = thing()
    one["spec"]["one"] = {}
    found = complaints(THING, one)
    text = '"spec.one" must validate one and only one schema (oneOf). Found none valid'
    assert found[0] == ("<nil>", f'Invalid value: "": {text}')


def test_a_required_field_is_missed() -> None:
    with pytest.raises(Refusal) as refusal:
        admission.admit(THING, {**thing(), "spec": {}}, None)
    assert refusal.value.message == 'Thing.ex.io "t" is invalid: spec.port: Required value'


def test_unknown_fields_are_named_in_order() -> None:
    sent = {**thing(zz=1, map=[{"k": "a", "q": 1}]), "extra": 1}
    sent["metadata"]["bogus"] = 1
    assert THING.unknown(sent) == ["extra", "metadata.bogus", "spec.map[0].q", "spec.zz"]


def test_apply_merges_lists_as_the_schema_says() -> None:
    first = apply.applied(THING, None, thing(map=[{"k": "a"}], set=["x"]), who("one"))
    second = apply.applied(THING, first, thing(map=[{"k": "b"}], set=["y"]), who("two"))
    assert [item["k"] for item in second["spec"]["map"]] == ["a", "b"]
    assert second["spec"]["set"] == ["x", "y"]


def test_an_atomic_object_is_owned_as_a_whole() -> None:
    made = apply.tracked(THING, None, thing(whole={"a": 1}), updater("one"))
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:spec"]["f:whole"] == {}


def schema_of(**parts: Json) -> list[JsonObject]:
    schema = {"type": "object", "properties": {"spec": parts}}
    return [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]


@pytest.mark.parametrize(
    "spec, field, message",
    [
        (
            {"group": "ex"},
            "metadata.name",
            'Invalid value: "things.ex.io": must be spec.names.plural+"."+spec.group',
        ),
        ({"scope": ""}, "spec.scope", "Required value"),
        (
            {"versions": []},
            "spec.versions",
            "Invalid value: null: must have exactly one version marked as storage version",
        ),
        (
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "spec.versions[0].schema.openAPIV3Schema",
            "Required value",
        ),
        (
            {"versions": schema_of(type="")},
            "spec.validation.openAPIV3Schema.properties[spec].type",
            "Required value: must not be empty for specified object fields",
        ),
        (
            {"versions": schema_of(type="array")},
            "spec.validation.openAPIV3Schema.properties[spec].items",
            "Required value: must be specified",
        ),
        (
            {"versions": schema_of(type="string", default=1)},
            "spec.validation.openAPIV3Schema.properties[spec].default",
            'Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"preserveUnknownFields": True},
            "spec.preserveUnknownFields",
            "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to "
            "true in spec.versions[*].schema instead",
        ),
    ],
)
def test_definitions_are_judged(spec: JsonObject, field: str, message: str) -> None:
    assert (field, message) in complaints(CRD, definition(**spec))


def test_a_definition_is_completed() -> None:
    done = admission.admit(CRD, definition(), None)
    assert done["spec"]["names"] == {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
        "shortNames": ["th"],
    }
    assert done["spec"]["conversion"] == {"strategy": "None"}
    assert done["status"]["storedVersions"] == ["v1"]


READY = {
    "status": {
        "conditions": [{"type": "Other", "status": "x"}, {"type": "Ready", "status": "True"}]
    }
}


@pytest.mark.parametrize(
    "path, found",
    [
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[0].type", ["Other"]),
        (".status.conditions[*].type", ["Other", "Ready"]),
        (".status['conditions'][1].type", ["Ready"]),
        (".status.nothing", []),
        ('.status.conditions[?(@.type!="Ready")].status', ["x"]),
    ],
)
def test_json_paths_find(path: str, found: list[Json]) -> None:
    assert jsonpath.compiled(path)(READY) == found


@pytest.mark.parametrize("path", ["spec.x", ".spec[", ".a..b", ".spec[?(@.x>1)]"])
def test_other_json_paths_are_refused(path: str) -> None:
    with pytest.raises(jsonpath.Unsupported):
        jsonpath.compiled(path)


def test_printer_columns_become_cells() -> None:
    crd = definition()
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Port", "type": "integer", "jsonPath": ".spec.port"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Deep", "type": "string", "jsonPath": ".spec.deep", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    (kind,) = from_crd(crd)
    obj = {**thing(deep={"x": 1}), **READY}
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert [(column.title, column.cell(obj), column.wide) for column in kind.columns] == [
        ("Port", 1, False),
        ("Ready", "True", False),
        ("Deep", '{"x":1}', True),
        ("Age", "2026-01-01T00:00:00Z", False),
    ]
