"""Patches as the API understands them: JSON patch, merge patch and strategic merge patch."""

import copy
import json
import re

from isthmus.embedded.kinds import causes, shapes
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.patches import jsonpatch, strategic
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_HALF = re.compile("[\ud800-\udfff]")
_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


def patched(kind: Kind, content_type: str, current: JsonObject, body: bytes) -> JsonObject:
    """``current`` after the patch; a new object. Raises a Refusal 400, 415, 422 or 500.

    The last is the API server's own answer to a strategic patch that contradicts itself.
    """
    done = _patched(kind, content_type, current, body)
    try:
        if kind.shape:
            shapes.decoded(kind.shape, done)
    except shapes.Misshapen as error:
        # Unlike the real server, do not repeat the content of Secrets.
        shown = "" if kind.name == "Secret" else json.dumps(done, separators=(",", ":"))
        cause = causes.invalid("patch", shown, str(error))
        text = f' "" is invalid: patch: {cause.message}'
        raise Refusal(422, "Invalid", text, causes=(cause,)) from error
    return done


def _patched(kind: Kind, content_type: str, current: JsonObject, body: bytes) -> JsonObject:
    media = media_type(content_type)
    if media == JSON_PATCH:
        return _json_patched(current, body)
    if media == MERGE_PATCH:
        patch = _decoded(body, "error decoding patch: ")
        if patch is None:
            raise Refusal(400, "BadRequest", "Invalid JSON Patch")
        done: JsonObject = merge(current, _object(patch, "error decoding patch: "))
        return done
    if media == STRATEGIC_PATCH and kind.strategic:
        patch = _decoded(body, "")
        return strategic.merged(current, _object({} if patch is None else patch, ""), kind.lists)
    raise _unsupported(kind)


def _unsupported(kind: Kind) -> Refusal:
    if kind.strategic:
        return Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    known = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    text = "the body of the request was in an unknown format - accepted media types include: "
    return Refusal(415, "UnsupportedMediaType", text + known)


def media_type(content_type: str) -> str:
    """A Content-Type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def merge(target: Json, patch: Json) -> Json:
    """JSON merge patch (RFC 7396): null removes a member, everything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    done = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            done.pop(name, None)
        else:
            done[name] = merge(done.get(name), value)
    return done


def _json_patched(current: JsonObject, body: bytes) -> JsonObject:
    operations = _decoded(body, "error decoding patch: ")
    wanted = "[]handlers.jsonPatchOp"
    if not isinstance(operations, list):
        raise _wrong_type(operations, wanted, "error decoding patch: ")
    for operation in operations:
        if not isinstance(operation, dict):
            raise _wrong_type(operation, wanted.removeprefix("[]"), "error decoding patch: ")
    if len(operations) > jsonpatch.MAX_OPERATIONS:
        limit = f"is {jsonpatch.MAX_OPERATIONS}, got {len(operations)}"
        text = f"Request entity too large: The allowed maximum operations in a JSON patch {limit}"
        raise Refusal(413, "RequestEntityTooLarge", text)
    return jsonpatch.apply(operations, current)


def _decoded(body: bytes, prefix: str) -> Json:
    try:
        return whole(json.loads(body))
    except RecursionError as error:
        raise Refusal(400, "BadRequest", f"{prefix}json: exceeded max depth") from error
    except ValueError as error:
        ended = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip())
        text = "unexpected end of JSON input" if ended else str(error)
        raise Refusal(400, "BadRequest", prefix + text) from error


def whole(value: Json) -> Json:
    """``value`` as Go's decoders have it: with a sign in place of each half of a character, and
    with text for keys.

    JSON can escape one half of a surrogate pair; Python keeps it, and nothing can encode it. YAML
    can have numbers for keys.
    """
    if isinstance(value, str):
        if not _HALF.search(value):
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict):
        return {
            whole(name if isinstance(name, str) else json.dumps(name, default=str)): whole(one)
            for name, one in value.items()
        }
    return value


def _object(value: Json, prefix: str) -> JsonObject:
    if not isinstance(value, dict):
        raise _wrong_type(value, "map[string]interface {}", prefix)
    return value


def _wrong_type(value: Json, wanted: str, prefix: str) -> Refusal:
    found = _GO_NAMES.get(type(value), "object")
    text = f"{prefix}json: cannot unmarshal {found} into Go value of type {wanted}"
    return Refusal(400, "BadRequest", text)
