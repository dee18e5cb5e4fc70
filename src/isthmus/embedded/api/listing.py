"""Get and list: selectors, pages that stay consistent, and reading at a certain version."""

import base64
import binascii
from dataclasses import dataclass
from itertools import islice

import msgspec

from isthmus.embedded.api import selectors
from isthmus.embedded.api.answers import Form
from isthmus.embedded.api.calls import Call
from isthmus.embedded.kinds import causes
from isthmus.embedded.kinds.refusals import bad_request, expired, invalid, not_found
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Compacted, Place, Record
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.wire import JsonObject

_DIGITS = 20  # of the largest version, a number with 64 bits
_TOO_OLD = "The resourceVersion for the provided list is too old."
_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
_MATCHES = ("Exact", "NotOlderThan")


class _Token(msgspec.Struct, frozen=True):
    """What a continue token holds. Revision -1: whatever is there when it is used."""

    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which part of the collection at which revision."""

    at: int
    after: Place = ("", "")
    limit: int = 0


def get(plane: Plane, call: Call) -> Record:
    """One object. A read at version 0 may be stale in the real server, but need not be."""
    version(call, plane.store.revision)
    try:
        record = plane.store.get(call.route.key, call.as_of)
    except Compacted:
        raise expired(_TOO_OLD) from None
    if record is None:
        raise not_found(call.kind, call.route.name)
    return record


def page(plane: Plane, call: Call, form: Form) -> bytes:
    """One page of a list, or all of it."""
    bounds = _bounds(plane, call)
    chosen = selectors.selection(
        call.kind, call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
    )
    try:
        found = plane.store.scan(call.route.resource, call.route.namespace, bounds.after, bounds.at)
    except Compacted:
        raise expired(_TOO_OLD) from None
    metadata: JsonObject = {"continue": ""} if form.custom else {}
    metadata["resourceVersion"] = str(bounds.at)
    matching = found if chosen is None else (r for r in found if chosen(r.object))
    shown = list(islice(matching, bounds.limit)) if bounds.limit else list(matching)
    # Like etcd, do not look whether anything of what is left matches.
    if bounds.limit and len(shown) == bounds.limit and shown[-1] is not found[-1]:
        metadata["continue"] = _token(bounds.at, shown[-1].key.place)
        if chosen is None:
            metadata["remainingItemCount"] = len(found) - len(shown)
    return form.listed(shown, metadata)


def version(call: Call, newest: int) -> int | None:
    """The resourceVersion that was asked for, if any; refuses one from the future."""
    text = call.query.get("resourceVersion", "")
    if not text:
        return None
    fits = len(text) <= _DIGITS
    if not text.isdecimal() or not fits:
        wrong = "value out of range" if text.isdecimal() else "invalid syntax"
        why = f'strconv.ParseUint: parsing "{text}": {wrong}'
        cause = causes.invalid("resourceVersion", text, why)
        if call.verb == "watch":
            raise Refusal(500, "", f"resourceVersion: {cause.message}")
        raise bad_request(f"invalid resource version: resourceVersion: {cause.message}")
    if int(text) > newest and call.verb != "watch":
        raise too_large(int(text), newest)
    return int(text)


def too_large(wanted: int, newest: int) -> Refusal:
    return Refusal(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {newest}",
        causes=(Cause("ResourceVersionTooLarge", "Too large resource version", ""),),
        retry_after=1,
    )


def head(plane: Plane, call: Call) -> int:
    """The newest revision that this call may see."""
    revision = plane.store.revision
    return revision if call.as_of is None else min(revision, call.as_of)


def _bounds(plane: Plane, call: Call) -> Bounds:
    _check_list_options(call)
    newest = head(plane, call)
    limit = max(0, call.number("limit"))
    token = call.query.get("continue", "")
    if token:
        return _continued(plane, call, newest, limit)
    wanted = version(call, newest)
    if wanted is None:
        return Bounds(newest, limit=limit)
    if wanted == 0:
        return Bounds(newest)  # The real server answers from its cache, which knows no pages.
    match = call.query.get("resourceVersionMatch", "")
    # With a limit and without a match, a version has always meant exactly that version.
    if match == "Exact" or (not match and limit):
        _check_kept(plane, wanted)
        return Bounds(wanted, limit=limit)
    return Bounds(newest, limit=limit)


def _check_kept(plane: Plane, wanted: int) -> None:
    if wanted < plane.store.compacted:
        raise expired(_TOO_OLD)


def _check_list_options(call: Call) -> None:
    query = call.query
    match = query.get("resourceVersionMatch", "")
    wrong: list[Cause] = []
    field = "resourceVersionMatch"
    if match:
        if not query.get("resourceVersion"):
            text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            wrong.append(causes.forbidden(field, text))
        if query.get("continue"):
            text = "resourceVersionMatch is forbidden when continue is provided"
            wrong.append(causes.forbidden(field, text))
        if match not in _MATCHES:
            wrong.append(causes.unsupported(field, match, (*_MATCHES, "")))
        if match == "Exact" and query.get("resourceVersion") == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            wrong.append(causes.forbidden(field, text))
    if query.get("sendInitialEvents"):
        text = "sendInitialEvents is forbidden for list"
        wrong.append(causes.forbidden("sendInitialEvents", text))
    if wrong:
        raise invalid("meta.k8s.io", "ListOptions", "", tuple(wrong))


def _token(revision: int, place: Place) -> str:
    start = "/".join(part for part in place if part) + "\0"
    held = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, start))
    return base64.urlsafe_b64encode(held).decode().rstrip("=")


def _continued(plane: Plane, call: Call, newest: int, limit: int) -> Bounds:
    text = call.query["continue"]
    if call.query.get("resourceVersion") not in (None, "", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        held = msgspec.json.decode(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token
        )
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None
    namespace, slash, name = held.start.rstrip("\0").rpartition("/")
    place = (namespace if slash else "", name)
    if held.rv < 0:
        return Bounds(newest, place, limit)
    if held.rv < plane.store.compacted:
        raise expired(_CONTINUE_TOO_OLD, _token(-1, place))
    return Bounds(held.rv, place, limit)
