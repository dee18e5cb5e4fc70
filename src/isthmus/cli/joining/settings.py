"""Fields of a spec as they are typed: ``--set probe.period=5s``, and files of the same fields.

The schema of the kind says what there is and of which type, so that a slip is named here, with
what was probably meant, and not dropped by a server that knows no such field.
"""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache

from isthmus.embedded.kinds import schema as schemas
from isthmus.embedded.kinds.schemarules import judged
from isthmus.install.definitions import definitions
from isthmus.model.errors import Misused
from isthmus.model.quoting import one_line
from isthmus.model.times import seconds
from isthmus.model.wire import Json, JsonObject

_LONGEST = 120  # characters of what was typed that are repeated


class BadSetting(Misused):
    """A field that is not there, or a value that it does not take. Names both."""


@cache  # reading YAML takes longer than all that is done with it
def schema_of(kind: str) -> JsonObject:
    """Return the schema of the newest version of a kind of ours."""
    found = next(one for one in definitions() if one["spec"]["names"]["kind"] == kind)
    schema: JsonObject = found["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
    return schema


def gathered(kind: str, files: Iterable[JsonObject], typed: Iterable[str]) -> JsonObject:
    """Return the spec that ``files`` and then ``typed`` assignments say; the last word counts."""
    schema = schema_of(kind)["properties"]["spec"]
    spec: JsonObject = {}
    for part in (*files, *(_assigned(schema, one) for one in typed)):
        spec = merged(spec, part)
    check(kind, {"spec": spec})
    return spec


def merged(first: Json, second: Json) -> Json:
    """Return ``first`` with all that ``second`` says; mappings are merged, all else replaced."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return first | {
        name: merged(first[name], value) if name in first else value
        for name, value in second.items()
    }


def check(kind: str, obj: JsonObject) -> None:
    """Raise unless an object has known fields only, and values that they take.

    Rules about several fields at once are left to the API server, which has them from the same
    definition.
    """
    schema = schema_of(kind)
    for path in schemas.unknown(schema, obj):
        raise _unknown(schema["properties"]["spec"], path.removeprefix("spec."))
    for cause in judged(schema, obj):
        raise BadSetting(one_line(f"{cause.field}: {cause.message}", 2 * _LONGEST))
    for path, text in _misspelt_durations(schema, obj, ""):
        raise BadSetting(f"{path}: {_quoted(text)} is not a duration, such as 3s or 500ms")


def _assigned(schema: JsonObject, typed: str) -> JsonObject:
    """Return what one ``path=value`` says, as a tree."""
    path, equals, text = typed.partition("=")
    if not equals or not path:
        raise BadSetting(f"{_quoted(typed)} is not an assignment, such as probe.period=5s")
    names, found = _found(schema, path)
    value = _value(found, path, text)
    for name in reversed(names):
        value = {name: value}
    tree: JsonObject = value
    return tree


def _found(schema: JsonObject, path: str) -> tuple[list[str], JsonObject]:
    """Return the steps of a path, and the schema where it ends."""
    steps, names, here = path.split("."), list[str](), schema
    while steps:
        free = here.get("additionalProperties")
        if isinstance(free, dict):
            # The keys of such a mapping may have dots: labels do. Nothing comes after them.
            return [*names, ".".join(steps)], free
        name, *steps = steps
        known = here.get("properties") or {}
        if name not in known:
            raise _unknown(schema, path)
        names.append(name)
        here = known[name]
    return names, here


def _value(schema: JsonObject, path: str, text: str) -> Json:
    match schema.get("type"):
        case "boolean":
            if text not in ("true", "false"):
                raise BadSetting(f"{path}: {_quoted(text)} is neither true nor false")
            return text == "true"
        case "integer":
            try:
                return int(text)
            except ValueError:
                raise BadSetting(f"{path}: {_quoted(text)} is not a whole number") from None
        case "array" if not text.startswith("[") and schema["items"]["type"] != "object":
            return [_value(schema["items"], path, one) for one in text.split(",") if one]
        case "array" | "object":
            return _read_json(schema, path, text)
    return text


def _read_json(schema: JsonObject, path: str, text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        inner = next(iter(schema.get("properties") or ()), "")
        way = f"name one of its fields, as {path}.{inner}=..., or " if inner else ""
        raise BadSetting(f"{path}: {_quoted(text)} is not JSON; {way}write JSON") from None


def _unknown(schema: JsonObject, path: str) -> BadSetting:
    known = dict(_paths(schema))
    same_end = [one for one in known if one.rpartition(".")[2] == path.rpartition(".")[2]]
    near = same_end or get_close_matches(path, known, n=1)
    near = near or get_close_matches(path.rpartition(".")[2], known, n=1)
    hint = f"; is {near[0]} meant?" if near else f"; there are {', '.join(schema['properties'])}"
    return BadSetting(f"there is no field {_quoted(path)}{hint}")


def _paths(schema: JsonObject, prefix: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Yield all paths that can be assigned to."""
    for name, member in (schema.get("properties") or {}).items():
        yield f"{prefix}{name}", member
        yield from _paths(member, f"{prefix}{name}.")


def _misspelt_durations(schema: JsonObject, value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Yield texts where a rule of the schema reads a duration, and there is none."""
    rules = schema.get("x-kubernetes-validations") or ()
    if isinstance(value, str) and any("duration(self)" in one["rule"] for one in rules):
        try:
            seconds(value)
        except ValueError:
            yield path, value
    elif isinstance(value, dict):
        for name, member in (schema.get("properties") or {}).items():
            if name in value:
                inner = f"{path}.{name}" if path else name
                yield from _misspelt_durations(member, value[name], inner)


def _quoted(text: str) -> str:
    return repr(one_line(text, _LONGEST))
