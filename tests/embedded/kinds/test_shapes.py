"""Decoding of built-in kinds: one stored form, and no input that breaks the server."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds import admission, shapes
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.patches import apply
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject
from tests.embedded.patches.writers import updater, who

LEAVES: dict[str, st.SearchStrategy[Json]] = {
    "string": st.sampled_from(["", "a", "A b", "x.y/z", "None", "10.0.0.1", "ClusterIP"]),
    "bool": st.booleans(),
    "int32": st.sampled_from([-1, 0, 1, 80, 70000]),
    "int64": st.sampled_from([-1, 0, 1, 2**40]),
    "float64": st.just(0.5),
    "IntOrString": st.sampled_from([0, 80, "", "http", "25%"]),
    "Quantity": st.sampled_from(["1", "500m", "1Gi", 2]),
    "bytes": st.sampled_from(["", "eHg="]),
    "Time": st.just("2026-01-01T00:00:00Z"),
    "MicroTime": st.just("2026-01-01T00:00:00.000000Z"),
    "any": st.sampled_from([None, {}, {"type": "object"}, "x"]),
    "SchemaOrBool": st.sampled_from([True, {}, {"type": "string"}]),
    "SchemaOrList": st.sampled_from([[], {}, {"type": "string"}]),
}


@st.composite
def values(draw: st.DrawFn, shape: str, depth: int = 0) -> Json:
    """Something of ``shape``: mostly sparse, sometimes empty, sometimes null."""
    inner = shape.lstrip("*")
    if inner.startswith("[]"):
        size = draw(st.integers(0, 2)) if depth < 6 else 0
        return [draw(values(inner[2:], depth + 1)) for _ in range(size)]
    if inner.startswith("{}"):
        keys = draw(st.lists(st.sampled_from(["a", "a b", "kubernetes.io/x"]), max_size=2))
        return {key: draw(values(inner[2:], depth + 1)) for key in keys}
    if inner in LEAVES:
        return draw(LEAVES[inner])
    fields = shapes.fields(inner)
    if depth > 6:
        return {}
    chosen = draw(st.lists(st.sampled_from(fields), max_size=6)) if fields else []
    wanted = {one.name: one.shape for one in chosen if one.name != "managedFields"}
    if depth == 0 and "spec" in {one.name for one in fields}:
        wanted["spec"] = next(one.shape for one in fields if one.name == "spec")
    return {name: draw(values(part, depth + 1)) for name, part in wanted.items()}


def stored(kind: Kind, obj: JsonObject, old: JsonObject | None) -> JsonObject:
    """What the request path does to an object."""
    done = admission.filled(kind, obj)
    done = apply.tracked(kind, old, done, updater("me"))
    done = admission.prepared(kind, done, old)
    admission.judged(kind, done, old)
    return done


@pytest.mark.parametrize("kind", BUILTIN, ids=[kind.name for kind in BUILTIN])
@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_anything_is_stored_or_refused(kind: Kind, data: st.DataObject) -> None:
    head = {"apiVersion": kind.api_version, "kind": kind.name}
    first, second = (
        {**data.draw(values(kind.shape)), **head, "metadata": {"name": "x"}} for _ in range(2)
    )
    if kind.namespaced:
        first["metadata"] = second["metadata"] = {"name": "x", "namespace": "default"}
    with suppress(Refusal):
        old = stored(kind, first, None)
        assert admission.filled(kind, old) == old
        stored(kind, second, old)
        apply.applied(kind, old, second, who("me"))


@pytest.mark.parametrize("kind", BUILTIN, ids=[kind.name for kind in BUILTIN])
@settings(max_examples=10, deadline=None)
@given(junk=st.none() | st.integers() | st.lists(st.integers(), max_size=2) | st.just("x"))
def test_junk_is_decoded_or_refused(kind: Kind, junk: Json) -> None:
    for name in (one.name for one in shapes.fields(kind.shape)):
        with suppress(Refusal):
            admission.filled(kind, {"metadata": {"name": "x"}, name: junk})


def test_every_named_list_exists_in_its_type() -> None:
    """The tables of lists and atoms are kept by hand; the types are not."""
    for kind in BUILTIN:
        for path in (*kind.lists, *kind.apply_lists, *kind.atoms, *kind.key_defaults):
            assert _exists(kind.shape, path.split(".")), f"{kind.name}: {path}"


def _exists(shape: str, way: list[str]) -> bool:
    inner = shape.lstrip("*")
    if not way:
        return True
    if way[0] == "*":
        return inner.startswith("[]") and _exists(inner[2:], way[1:])
    known = {one.name: one.shape for one in shapes.fields(inner)}
    return way[0] in known and _exists(known[way[0]], way[1:])
