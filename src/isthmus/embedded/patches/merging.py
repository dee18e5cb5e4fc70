"""Merging an applied document into a live one: objects by member, keyed lists by key."""

from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.patches.fieldpaths import ABSENT, below, indexed, is_leaf
from isthmus.model.wire import Json, JsonObject


def merged(kind: Kind, live: JsonObject, applied: JsonObject) -> JsonObject:
    """``live`` with everything that ``applied`` says."""
    done = _merged(kind, live, applied, "")
    return done if isinstance(done, dict) else {}


def _merged(kind: Kind, live: Json, applied: Json, where: str) -> Json:
    if applied is ABSENT:
        return live
    if live is ABSENT or (where and is_leaf(kind, where, applied if applied is not None else live)):
        return applied
    if applied is None:
        return live  # a null cannot empty a container that is merged by member
    if isinstance(live, dict) and isinstance(applied, dict):
        names = {**live, **applied}
        return {
            name: _merged(
                kind, live.get(name, ABSENT), applied.get(name, ABSENT), below(where, name)
            )
            for name in names
        }
    if isinstance(live, list) and isinstance(applied, list):
        return _elements(kind, live, applied, where)
    return applied


def _elements(kind: Kind, live: list[Json], applied: list[Json], where: str) -> list[Json]:
    """Elements of both lists: the applied ones in their order, the others near their old place."""
    old, new = indexed(kind, live, where), indexed(kind, applied, where)
    left, right = list(old), list(new)
    shared = [element for element in right if element in old]
    done: dict[str, Json] = {}

    def take(element: str) -> None:
        done[element] = _merged(
            kind, old.get(element, ABSENT), new.get(element, ABSENT), f"{where}.*"
        )
        if shared and shared[0] == element:
            shared.pop(0)

    while left or right:
        if left and right and left[0] == right[0]:
            take(left.pop(0))
            right.pop(0)
        elif left and right and left[0] in new and shared and shared[0] != left[0]:
            left.pop(0)  # its turn comes with the applied list
        elif left and left[0] not in new:
            take(left.pop(0))
        else:
            if left and left[0] in done:
                left.pop(0)
            if right:
                take(right.pop(0))
    return list(done.values())
