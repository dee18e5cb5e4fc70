"""Sets of field paths: the arithmetic under server-side apply.

A path is a tuple of elements spelled as in ``fieldsV1``: ``f:name`` is a member of an object,
``k:{…}`` an element of a keyed list, ``v:…`` an element of a set. A field set is a plain
frozenset of paths, so that union, intersection and difference are Python's own.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import Json, JsonObject

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

ABSENT: Final = object()  # unlike None, which a document can contain


class Untyped(ValueError):
    """A document that cannot be divided into fields; the text names the field."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What the right document changes in the left one."""

    added: FieldSet
    changed: FieldSet
    removed: FieldSet

    @property
    def written(self) -> FieldSet:
        return self.added | self.changed


def decoded(fields: JsonObject) -> FieldSet:
    """The set that a ``fieldsV1`` document stands for."""
    return frozenset(_walk(fields, ()))


def _walk(fields: JsonObject, path: Path) -> Iterator[Path]:
    for element, below in fields.items():
        if element == ".":
            yield path
        elif below:
            yield from _walk(below, (*path, element))
        else:
            yield (*path, element)


def encoded(fields: FieldSet) -> JsonObject:
    """The ``fieldsV1`` document of a set."""
    root: JsonObject = {}
    for path in sorted(fields):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _compacted(below) for element, below in root.items()}


def _compacted(node: JsonObject) -> JsonObject:
    """A member without children is written as an empty object, not as ``{".": {}}``."""
    if len(node) == 1 and "." in node:
        return {}
    ordered = sorted(node.items())
    return {element: below if element == "." else _compacted(below) for element, below in ordered}


def shown(path: Path) -> str:
    """A path as people read it: ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(_element_shown, path))


def _element_shown(element: str) -> str:
    form, _, text = element.partition(":")
    if form == "f":
        return f".{text}"
    if form == "k":
        keys = json.loads(text).items()
        return "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in keys) + "]"
    return f"[={text}]"


def order(path: Path) -> list[tuple[bool, str]]:
    """Sorts paths as the real server lists them: at every level, what ends there comes first."""
    return [(index < len(path) - 1, element) for index, element in enumerate(path)]


def without(fields: FieldSet, roots: Iterable[Path]) -> FieldSet:
    """The set without everything at or below ``roots``."""
    heads = tuple(roots)
    return frozenset(
        path for path in fields if not any(path[: len(head)] == head for head in heads)
    )


def named(fields: FieldSet) -> FieldSet:
    """The set with every object member on the way to its paths."""
    return fields | {
        path[:end]
        for path in fields
        for end in range(1, len(path))
        if path[end - 1].startswith("f:")
    }


def below(where: str, name: str) -> str:
    """The place of a member, spelled as in ``Kind.lists``."""
    return f"{where}.{name}" if where else name


def element_of(kind: Kind, where: str, item: Json) -> str:
    """The path element of one element of the keyed list, or set, at ``where``."""
    keys = kind.keys(where)
    if not keys:
        return f"v:{_compact(item)}"
    defaults = kind.key_defaults.get(where, {})
    known = {**defaults, **item} if isinstance(item, dict) else {}
    found = {key: known[key] for key in sorted(keys) if known.get(key) is not None}
    # An element without any of its keys will be refused when it is judged.
    return f"k:{_compact(found)}" if found else f"v:{_compact(item)}"


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def is_leaf(kind: Kind, where: str, value: Json) -> bool:
    """Whether ``value`` is owned as a whole: a scalar, or an atomic object or list."""
    if isinstance(value, dict):
        return where in kind.atoms
    return not isinstance(value, list) or kind.keys(where) is None


def fields_of(kind: Kind, document: JsonObject) -> FieldSet:
    """The fields that an applied document speaks about."""
    return frozenset(_fields(kind, document, "", ()))


def _fields(
    kind: Kind, value: Json, where: str, path: Path, *, free: bool = False
) -> Iterator[Path]:
    if path and is_leaf(kind, where, value):
        yield path
    elif isinstance(value, dict):
        # A member that the schema does not name exists because somebody has written it.
        if path and (not value or free):
            yield path
        free = free or where in kind.free
        for name, member in value.items():
            inner = (*path, f"f:{name}")
            yield from _fields(kind, member, below(where, name), inner, free=free)
    else:
        for item in value:
            element = (*path, element_of(kind, where, item))
            yield element
            yield from _fields(kind, item, f"{where}.*", element)


def check(kind: Kind, document: JsonObject) -> None:
    """Raise Untyped if elements of a keyed list cannot be told apart."""
    _check(kind, document, "", ())


def _check(kind: Kind, value: Json, where: str, path: Path) -> None:
    if path and is_leaf(kind, where, value):
        return
    if isinstance(value, dict):
        for name, member in value.items():
            _check(kind, member, below(where, name), (*path, f"f:{name}"))
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = element_of(kind, where, item)
        keys = kind.keys(where)
        if keys and element.startswith("v:"):
            omitted = f"omits all key fields {_compact(list(keys))}"
            text = (
                f"element {index}: associative list with keys has an element that {omitted} "
                "(and doesn't have default values for any key fields)"
            )
            raise Untyped(f"{shown(path)}: {text}")
        if element in seen:
            text = f"duplicate entries for key {_element_shown(element)}"
            raise Untyped(f"{shown(path)}: {text}")
        seen.add(element)
        _check(kind, item, f"{where}.*", (*path, element))


def difference(kind: Kind, left: JsonObject, right: JsonObject) -> Difference:
    """Compare two documents field by field."""
    found: dict[str, set[Path]] = {"added": set(), "changed": set(), "removed": set()}
    for verdict, path in _compared(kind, left, right, "", ()):
        found[verdict].add(path)
    return Difference(*(frozenset(found[name]) for name in ("added", "changed", "removed")))


def _compared(
    kind: Kind, left: Json, right: Json, where: str, path: Path
) -> Iterator[tuple[str, Path]]:
    some = right if right is not ABSENT and right is not None else left
    pairs: Iterable[tuple[str, str, Json, Json]] = ()
    if not (some is ABSENT or _big(left, right) or is_leaf(kind, where, some)):
        pairs = (
            _members(left, right, where)
            if isinstance(some, dict)
            else _items(kind, left, right, where)
        )
    leaf = True
    for element, place, one, other in pairs:
        leaf = False
        yield from _compared(kind, one, other, place, (*path, element))
    if not path:
        return
    if left is ABSENT:
        yield "added", path
    elif right is ABSENT:
        yield "removed", path
    elif leaf and left != right:
        yield "changed", path


def _big(left: Json, right: Json) -> bool:
    """Documents of different shape are compared as wholes."""
    shapes = {type(side) for side in (left, right) if side is not ABSENT and side is not None}
    return len(shapes) > 1


def _members(left: Json, right: Json, where: str) -> Iterator[tuple[str, str, Json, Json]]:
    one = left if isinstance(left, dict) else {}
    other = right if isinstance(right, dict) else {}
    for name in {**one, **other}:
        yield f"f:{name}", below(where, name), one.get(name, ABSENT), other.get(name, ABSENT)


def _items(
    kind: Kind, left: Json, right: Json, where: str
) -> Iterator[tuple[str, str, Json, Json]]:
    one = indexed(kind, left if isinstance(left, list) else [], where)
    other = indexed(kind, right if isinstance(right, list) else [], where)
    for element in {**one, **other}:
        yield element, f"{where}.*", one.get(element, ABSENT), other.get(element, ABSENT)


def indexed(kind: Kind, items: list[Json], where: str) -> dict[str, Json]:
    """The elements of a keyed list by their path elements; the last of equals wins."""
    return {element_of(kind, where, item): item for item in items}


def pruned(kind: Kind, document: JsonObject, unwanted: FieldSet) -> JsonObject:
    """A copy of ``document`` without the ``unwanted`` fields; what becomes empty is null.

    A null is not yet an absent field: whoever owns the container itself still does.
    """
    parents = frozenset(path[:end] for path in unwanted for end in range(len(path)))
    done = _pruned(kind, document, unwanted, parents, ("", ()))
    return done if isinstance(done, dict) else {}


def _pruned(
    kind: Kind, value: Json, unwanted: FieldSet, parents: FieldSet, at: tuple[str, Path]
) -> Json:
    where, path = at
    if path not in parents or (path and is_leaf(kind, where, value)):
        return value
    if isinstance(value, dict):
        kept: JsonObject = {}
        for name, member in value.items():
            inner = (*path, f"f:{name}")
            if inner not in unwanted:
                kept[name] = _pruned(kind, member, unwanted, parents, (below(where, name), inner))
        return kept or None
    items: list[Json] = []
    for item in value:
        inner = (*path, element_of(kind, where, item))
        if inner not in unwanted:
            items.append(_pruned(kind, item, unwanted, parents, (f"{where}.*", inner)))
    return items or None
