"""JSON patch (RFC 6902) with the habits of the API server's implementation.

It departs from the RFC where clients can see it: ``replace`` of a missing member adds it,
``copy`` of a missing member and an operation without ``value`` mean null.
"""

from collections.abc import Sequence

from isthmus.embedded.copying import copied
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

MAX_OPERATIONS = 10_000
MOST_DIGITS = 10  # of an index; no body has room for more items


def apply(operations: Sequence[JsonObject], document: JsonObject) -> JsonObject:
    """``document`` after all ``operations``, or the Refusal 422 if one of them fails."""
    done: JsonObject = copied(document)
    for operation in operations:
        done = _one(operation, done)
    return done


def _one(operation: JsonObject, document: JsonObject) -> JsonObject:
    path = operation.get("path")
    name = operation.get("op")
    if not isinstance(path, str):
        raise refused()
    if name in ("move", "copy"):
        source = operation.get("from")
        if not isinstance(source, str):
            raise refused()
        value = copied(_found(document, source, required=name == "move"))
        if name == "move":
            _remove(document, source)
        return _add(document, path, value)
    value = copied(operation.get("value"))
    if name == "add":
        return _add(document, path, value)
    if name == "replace":
        return _replace(document, path, value)
    if name == "remove":
        _remove(document, path)
        return document
    if name == "test" and _same(_found(document, path, required=value is not None), value):
        return document
    raise refused()


def refused() -> Refusal:
    """The API does not say which operation failed, nor why."""
    text = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", text)


def _tokens(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise refused()
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _parent(document: Json, path: str) -> tuple[Json, str]:
    """The container that holds the last part of ``path``."""
    *way, last = _tokens(path)
    node = document
    for token in way:
        node = _child(node, token, required=True)
    if not isinstance(node, (dict, list)):
        raise refused()
    return node, last


def _child(node: Json, token: str, *, required: bool) -> Json:
    if isinstance(node, dict):
        if token in node:
            return node[token]
        if not required:
            return None
        raise refused()
    if isinstance(node, list):
        return node[_index(token, len(node) - 1)]
    raise refused()


def _index(token: str, highest: int) -> int:
    # Python refuses to read thousands of digits at all, so they are counted first.
    is_number = token.isascii() and token.isdigit() and len(token) <= MOST_DIGITS
    if not is_number or int(token) > highest:
        raise refused()
    return int(token)


def _found(document: Json, path: str, *, required: bool) -> Json:
    if not _tokens(path):
        return document
    node, last = _parent(document, path)
    return _child(node, last, required=required)


def _whole(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise refused()
    return value


def _add(document: JsonObject, path: str, value: Json) -> JsonObject:
    if not _tokens(path):
        return _whole(value)
    node, last = _parent(document, path)
    if isinstance(node, dict):
        node[last] = value
    elif last == "-":
        node.append(value)
    else:
        node.insert(_index(last, len(node)), value)
    return document


def _replace(document: JsonObject, path: str, value: Json) -> JsonObject:
    if not _tokens(path):
        return _whole(value)
    node, last = _parent(document, path)
    if isinstance(node, dict):
        node[last] = value
    else:
        node[_index(last, len(node) - 1)] = value
    return document


def _remove(document: JsonObject, path: str) -> None:
    if not _tokens(path):
        raise refused()
    node, last = _parent(document, path)
    _child(node, last, required=True)
    if isinstance(node, dict):
        del node[last]
    else:
        del node[_index(last, len(node) - 1)]


def _same(left: Json, right: Json) -> bool:
    """JSON equality: unlike in Python, true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
