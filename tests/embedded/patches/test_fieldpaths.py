"""Field sets: the laws that server-side apply rests on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.patches import fieldpaths, merging
from isthmus.embedded.patches.fieldpaths import FieldSet
from isthmus.model.wire import Json, JsonObject

SERVICE = next(kind for kind in BUILTIN if kind.name == "Service")
PORT = 'k:{"port":80,"protocol":"TCP"}'

elements = st.sampled_from(["f:a", "f:b", PORT, 'v:"x"'])
sets = st.frozensets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=6)
words = st.sampled_from("xy")
labels = st.dictionaries(st.sampled_from("abc"), words, max_size=3)
ports = st.lists(  # never empty: the API stores no empty list
    st.fixed_dictionaries({"port": st.integers(1, 3)}, optional={"name": words}),
    min_size=1,
    max_size=3,
    unique_by=lambda port: port["port"],
)
services: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({}, optional={"labels": labels})},
    optional={
        "spec": st.fixed_dictionaries(
            {}, optional={"ports": ports, "type": words, "selector": labels}
        )
    },
)


@settings(max_examples=40)
@given(sets)
def test_a_set_survives_its_encoding(fields: FieldSet) -> None:
    assert fieldpaths.decoded(fieldpaths.encoded(fields)) == fields


@pytest.mark.parametrize(
    "fields, document",
    [
        pytest.param({("f:a",)}, {"f:a": {}}, id="a leaf"),
        pytest.param({("f:a", "f:b")}, {"f:a": {"f:b": {}}}, id="only the child"),
        pytest.param(
            {("f:a",), ("f:a", "f:b")}, {"f:a": {".": {}, "f:b": {}}}, id="parent and child"
        ),
        pytest.param(set(), {}, id="nothing"),
    ],
)
def test_encoding(fields: FieldSet, document: JsonObject) -> None:
    assert fieldpaths.encoded(frozenset(fields)) == document


def test_what_an_applied_document_speaks_about() -> None:
    document = {
        "metadata": {"labels": {"a": "b"}, "finalizers": ["x"]},
        "spec": {"ports": [{"port": 80, "name": "web"}], "selector": {"a": "b"}},
    }
    ports = ("f:spec", "f:ports")
    assert fieldpaths.fields_of(SERVICE, document) == {
        ("f:metadata", "f:labels", "f:a"),
        ("f:metadata", "f:finalizers", 'v:"x"'),
        (*ports, PORT),
        (*ports, PORT, "f:port"),
        (*ports, PORT, "f:name"),
        ("f:spec", "f:selector"),  # owned as a whole
    }


@pytest.mark.parametrize(
    "path, text",
    [
        ((*("f:spec", "f:ports"), PORT, "f:name"), '.spec.ports[port=80,protocol="TCP"].name'),
        (("f:metadata", "f:finalizers", 'v:"x"'), '.metadata.finalizers[="x"]'),
    ],
)
def test_paths_are_shown_as_conflicts_name_them(path: fieldpaths.Path, text: str) -> None:
    assert fieldpaths.shown(path) == text


@settings(max_examples=40)
@given(services)
def test_a_document_does_not_differ_from_itself(document: JsonObject) -> None:
    change = fieldpaths.difference(SERVICE, document, document)
    assert not change.added | change.changed | change.removed


@settings(max_examples=40)
@given(services, services)
def test_differences_turn_around(left: JsonObject, right: JsonObject) -> None:
    there = fieldpaths.difference(SERVICE, left, right)
    back = fieldpaths.difference(SERVICE, right, left)
    assert (there.added, there.changed, there.removed) == (back.removed, back.changed, back.added)


@settings(max_examples=40)
@given(services, services)
def test_a_merge_says_everything_that_was_applied(live: JsonObject, applied: JsonObject) -> None:
    done = merging.merged(SERVICE, live, applied)
    change = fieldpaths.difference(SERVICE, done, merging.merged(SERVICE, done, applied))
    assert not change.written | change.removed
    wanted = fieldpaths.fields_of(SERVICE, applied)
    assert wanted <= fieldpaths.fields_of(SERVICE, done) | _emptied(live, wanted)


def _emptied(live: JsonObject, wanted: FieldSet) -> FieldSet:
    """An empty object says nothing where the live one has members."""
    known = fieldpaths.named(fieldpaths.fields_of(SERVICE, live))
    return frozenset(path for path in wanted if path in known)


@settings(max_examples=40)
@given(services)
def test_pruning_every_field_leaves_no_value(document: JsonObject) -> None:
    everything = fieldpaths.fields_of(SERVICE, document)
    rest = fieldpaths.pruned(SERVICE, document, everything)
    assert not fieldpaths.fields_of(SERVICE, _without_nulls(rest)) & everything


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return value


@settings(max_examples=40)
@given(sets, sets)
def test_without_removes_whole_branches(fields: FieldSet, roots: FieldSet) -> None:
    rest = fieldpaths.without(fields, roots)
    assert rest <= fields
    assert not [path for path in rest for root in roots if path[: len(root)] == root]
