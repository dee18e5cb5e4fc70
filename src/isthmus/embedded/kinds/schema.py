"""Structural schemas of custom resources: pruning, defaulting, and where lists merge.

Judging values is :mod:`isthmus.embedded.kinds.schemarules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from isthmus.embedded.copying import copied
from isthmus.embedded.kinds import shapes
from isthmus.model.wire import Json, JsonObject

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
_OBJECT = ("apiVersion", "kind", "metadata")


def pruned(schema: JsonObject, obj: JsonObject) -> JsonObject:
    """A copy of a custom resource without the fields that its schema does not know."""
    done = _pruned(schema, obj, whole=True)
    return done if isinstance(done, dict) else {}


def _pruned(schema: JsonObject, value: Json, *, whole: bool = False) -> Json:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_pruned(items, item) for item in value]
    if isinstance(value, dict):
        return _pruned_object(schema, value, whole=whole)
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON has one kind of number: 1.0 is stored as 1
    return value


def _pruned_object(schema: JsonObject, value: JsonObject, *, whole: bool) -> JsonObject:
    whole = whole or bool(schema.get(EMBEDDED))
    done: JsonObject = {}
    for name, member in value.items():
        known = _member(schema, name)
        if whole and name in _OBJECT:
            done[name] = _metadata(member) if name == "metadata" else member
        elif known is not None:
            done[name] = _pruned(known, member)
        elif schema.get(PRESERVE):
            done[name] = copied(member)
    return done


def _metadata(value: Json) -> Json:
    try:
        return shapes.decoded("meta.ObjectMeta", value)
    except shapes.Misshapen:
        return value  # The object's own metadata is refused when it is decoded.


def _member(schema: JsonObject, name: str) -> JsonObject | None:
    """The schema of a member, or None if the schema does not speak of it."""
    properties = schema.get("properties") or {}
    if name in properties:
        found: JsonObject = properties[name] or {}
        return found
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    # A schema of anything at all, as additionalProperties: true gives it.
    return {PRESERVE: True} if extra is True else None


def unknown(schema: JsonObject, obj: JsonObject) -> list[str]:
    """The paths that pruning drops, in alphabetical order."""
    return sorted(_unknown(schema, obj, "", whole=True))


def _unknown(schema: JsonObject, value: Json, path: str, *, whole: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(schema.get("items") or {}, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        whole = whole or bool(schema.get(EMBEDDED))
        for name, member in value.items():
            here = f"{path}.{name}" if path else name
            known = _member(schema, name)
            if whole and name in _OBJECT:
                if name == "metadata" and isinstance(member, dict):
                    inner = shapes.unknown("meta.ObjectMeta", member)
                    yield from (f"{here}.{one}" for one in inner)
            elif known is not None:
                yield from _unknown(known, member, here)
            elif not schema.get(PRESERVE):
                yield here


def fill(schema: JsonObject, value: Json) -> None:
    """Set defaults, in place. A null that is not allowed counts as absent."""
    if isinstance(value, list):
        for item in value:
            fill(schema.get("items") or {}, item)
    elif isinstance(value, dict):
        for name, member in (schema.get("properties") or {}).items():
            if value.get(name, member) is None and not member.get("nullable"):
                del value[name]
            if name not in value and "default" in member:
                value[name] = copied(member["default"])
        for name, inner in value.items():
            known = _member(schema, name)
            if known is not None:
                fill(known, inner)


@dataclass(slots=True)
class Merging:
    """What server-side apply must know about a schema, in the words of ``Kind``."""

    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    key_defaults: dict[str, JsonObject] = field(default_factory=dict)
    atoms: set[str] = field(default_factory=set)
    free: set[str] = field(default_factory=set)


def merging(schema: JsonObject) -> Merging:
    found = Merging()
    _collect(schema, "", found)
    return found


def _collect(schema: JsonObject, path: str, found: Merging) -> None:
    if schema.get(MAP_TYPE) == "atomic":
        found.atoms.add(path)
        return
    if schema.get(PRESERVE) or schema.get("additionalProperties"):
        found.free.add(path)
    items = schema.get("items")
    if isinstance(items, dict):
        match schema.get(LIST_TYPE):
            case "map":
                keys = tuple(schema.get(MAP_KEYS) or ())
                found.lists[path] = keys
                fields = items.get("properties") or {}
                found.key_defaults[path] = {
                    key: fields[key]["default"] for key in keys if "default" in fields.get(key, {})
                }
                _collect(items, f"{path}.*", found)
            case "set":
                found.lists[path] = ()
    for name, member in (schema.get("properties") or {}).items():
        if path or name not in _OBJECT:
            _collect(member, f"{path}.{name}" if path else name, found)
