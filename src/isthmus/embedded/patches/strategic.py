"""Strategic merge patch: a merge patch that knows the lists of built-in kinds.

Elements of a list with merge keys are merged one by one, and directives inside the patch
(``$patch``, ``$retainKeys``, ``$setElementOrder/…``, ``$deleteFromPrimitiveList/…``) say what a
plain document cannot. Paths of lists are as in ``Kind.lists``.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

Keys: TypeAlias = Mapping[str, tuple[str, ...]]

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DROP = "$deleteFromPrimitiveList/"


def merged(original: JsonObject, patch: JsonObject, keys: Keys) -> JsonObject:
    """``original`` after ``patch``; neither is changed."""
    return _object(copy.deepcopy(original), copy.deepcopy(patch), keys, "")


def _object(original: JsonObject, patch: JsonObject, keys: Keys, path: str) -> JsonObject:
    if DIRECTIVE in patch:
        return _directed(patch)
    if RETAIN in patch:
        original = _retained(original, patch)
    done = dict(original)
    orders = {name.removeprefix(ORDER): patch[name] for name in patch if name.startswith(ORDER)}
    for name, value in patch.items():
        if name == RETAIN or name.startswith(ORDER):
            continue
        if name.startswith(DROP):
            _drop(done, name.removeprefix(DROP), value)
        elif value is None:
            done.pop(name, None)
        else:
            result, keep = _value(done.get(name), value, keys, f"{path}.{name}".lstrip("."))
            if keep:
                done[name] = result
            else:
                done.pop(name, None)
    for name, order in orders.items():
        if isinstance(done.get(name), list):
            listed = keys.get(f"{path}.{name}".lstrip("."), ())
            if not isinstance(order, list) or (listed and not _are_objects(order, done[name])):
                raise _broken(f"invalid patch format of setElementOrder list: {_go(order)}")
            before = _overwritten(original.get(name), patch.get(name), listed)
            done[name] = _ordered(done[name], order, before, _identity(listed))
    return done


def _overwritten(original: Json, patch: Json, keys: tuple[str, ...]) -> list[Json]:
    """The old order of a list, as the real server remembers it.

    Removing elements there makes room in the very list it sorts by later, and new elements move
    in; so they stand last instead of first, and clients can see that.
    """
    if not isinstance(original, list):
        return []
    if not isinstance(patch, list) or not keys or {DIRECTIVE: "replace"} in patch:
        return original
    if not _are_objects(original, patch):
        return []
    kept, wanted = _special(original, patch, keys[0])
    new = [one for one in wanted if one.get(keys[0]) not in [old.get(keys[0]) for old in kept]]
    return [*kept, *new][: len(original)]


def _are_objects(*lists: list[Json]) -> bool:
    return all(isinstance(one, dict) for some in lists for one in some)


def _directed(patch: JsonObject) -> JsonObject:
    match patch[DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise _broken(f"unknown patch type: {other} in map: {_go(patch)}")


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    kept = patch[RETAIN]
    named = {
        name
        for name, value in patch.items()
        if value is not None and not name.startswith((RETAIN, ORDER, DROP))
    }
    if not isinstance(kept, list) or any(name not in kept for name in named):
        raise _broken("invalid patch format of retainKeys list: all fields must be in the list")
    return {name: value for name, value in original.items() if name in kept}


def _drop(done: JsonObject, name: str, unwanted: Json) -> None:
    if isinstance(done.get(name), list) and isinstance(unwanted, list):
        done[name] = [item for item in done[name] if item not in unwanted]


def _value(original: Json, patch: Json, keys: Keys, path: str) -> tuple[Json, bool]:
    """The merged value, and whether there is one."""
    if isinstance(original, dict) and isinstance(patch, dict):
        return _object(original, patch, keys, path), True
    if isinstance(original, list) and isinstance(patch, list):
        listed = keys.get(path)
        return (patch if listed is None else _list(original, patch, keys, path)), True
    return _undirected(patch)


def _undirected(value: Json) -> tuple[Json, bool]:
    """A value that has nothing to merge with: without its directives and its nulls."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        pairs = ((name, _undirected(item)) for name, item in value.items() if item is not None)
        return {
            name: item
            for name, (item, keep) in pairs
            if keep and name != RETAIN and not name.startswith((ORDER, DROP))
        }, True
    if isinstance(value, list):
        return [item for item, keep in map(_undirected, value) if keep], True
    return value, True


def _list(original: list[Json], patch: list[Json], keys: Keys, path: str) -> list[Json]:
    if not original and not patch:
        return original
    if len({isinstance(item, dict) for item in (*original, *patch)}) > 1:
        raise _broken(f"list element types are not identical: [{_go(original)} {_go(patch)}]")
    listed = keys[path]
    if not isinstance((*original, *patch)[0], dict):
        added = [item for at, item in enumerate(patch) if item not in (*original, *patch[:at])]
        return _ordered([*original, *added], patch, original, _identity(()))
    key = listed[0]
    kept, wanted = _special(original, patch, key)
    done = list(kept)
    for element in wanted:
        if key not in element:
            raise _broken(_no_key(element, key))
        at = next((i for i, one in enumerate(done) if one.get(key) == element[key]), None)
        if at is None:
            done.append(element)  # with its directives, which decoding drops like unknown fields
        else:
            done[at] = _object(done[at], element, keys, f"{path}.*")
    return _ordered(done, wanted, kept, _identity(listed))


def _special(
    original: list[JsonObject], patch: list[JsonObject], key: str
) -> tuple[list[JsonObject], list[JsonObject]]:
    """What is left of both lists when elements that are directives have been obeyed."""
    kept, wanted, replace = list(original), [], False
    for element in patch:
        match element.get(DIRECTIVE):
            case None:
                wanted.append(element)
            case "delete" if key in element:
                kept = [one for one in kept if one.get(key) != element[key]]
            case "delete":
                raise _broken(_no_key(element, key))
            case "replace":
                replace = True
            case "merge":
                raise _broken("merging lists cannot yet be specified in the patch")
            case other:
                raise _broken(f"unknown patch type: {other} in map: {_go(element)}")
    return (wanted, []) if replace else (kept, wanted)


def _identity(keys: tuple[str, ...]) -> Callable[[Json], Json]:
    return (lambda item: item.get(keys[0])) if keys else (lambda item: item)


def _ordered(
    items: list[Json],
    order: Sequence[Json],
    before: Sequence[Json],
    identity: Callable[[Json], Json],
) -> list[Json]:
    """Patched elements in the patch's order, the others in their old order, interleaved.

    Where the old list does not decide, the patched element goes first.
    """
    wanted = [identity(one) for one in order]
    known = [identity(one) for one in before]
    patched = [one for one in items if identity(one) in wanted]
    patched.sort(key=lambda one: wanted.index(identity(one)))
    others = [one for one in items if identity(one) not in wanted]
    others.sort(
        key=lambda one: known.index(identity(one)) if identity(one) in known else len(known)
    )
    done: list[Json] = []
    while others and patched:
        left, right = identity(others[0]), identity(patched[0])
        first = left in known and right in known and known.index(left) < known.index(right)
        done.append((others if first else patched).pop(0))
    return [*done, *others, *patched]


def _no_key(element: JsonObject, key: str) -> str:
    return f"map: {_go(element)} does not contain declared merge key: {key}"


def _broken(message: str) -> Refusal:
    return Refusal(500, "", message)


def _go(value: Json) -> str:
    """Go's %v, in which the API's messages show parts of a patch."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_go(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)
