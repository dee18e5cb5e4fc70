"""Events: one object that two groups show, under different names of its fields.

The store keeps the core group's form, and messages speak of its fields even where a client has
used the other one. ``events.k8s.io`` demands more of those who write.
"""

from collections.abc import Iterator, Mapping

from isthmus.embedded.kinds import formats, shapes
from isthmus.embedded.kinds.causes import IMMUTABLE, each, invalid, required
from isthmus.embedded.kinds.kind import View
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject

_CORE, _OTHER = "core.Event", "events.Event"  # types in `shapes`
_STORED_NAMES: Mapping[str, str] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_SHOWN_NAMES = {stored: shown for shown, stored in _STORED_NAMES.items()}
_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}  # bytes
_OBSOLETE = ("firstTimestamp", "lastTimestamp", "count", "source")
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",  # The real server looks at it twice, and says so twice.
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)
_EMPTY: Mapping[str, Json] = {"reason": "", "message": "", "type": "", "action": "", "count": 0}
_REFERENCE = {
    "kind": "Kind",
    "namespace": "Namespace",
    "name": "Name",
    "uid": "UID",
    "apiVersion": "APIVersion",
    "resourceVersion": "ResourceVersion",
    "fieldPath": "FieldPath",
}


def _renamed(obj: JsonObject, names: Mapping[str, str]) -> JsonObject:
    return {names.get(name, name): value for name, value in obj.items()}


def _stored(obj: JsonObject) -> JsonObject:
    return shapes.decoded(_CORE, _renamed(obj, _STORED_NAMES))


def _shown(obj: JsonObject) -> JsonObject:
    return shapes.decoded(_OTHER, _renamed(obj, _SHOWN_NAMES))


VIEW = View(resource="/events", names=_STORED_NAMES, stored=_stored, shown=_shown)


def judge(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """What is wrong with an Event of the core group."""
    return list(_sensible(new, "reportingComponent"))


def judge_strictly(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """What is wrong with an Event of ``events.k8s.io``."""
    event = _stored(new)
    found = list(_sensible(event, "reportingController"))
    if old is None:
        return [*found, *_repeats(event), *_modern(event)]
    before = _stored(old)
    if event.get("series") != before.get("series"):
        found += _repeats(event)
    for name in _FIXED:
        if event.get(name) != before.get(name):
            path = "reportingController" if name == "reportingComponent" else name
            value = _internal(name, event.get(name, _EMPTY.get(name)))
            found.append(invalid(path, value, IMMUTABLE))
    return found


def _sensible(event: JsonObject, reporter: str) -> Iterator[Cause]:
    about = event["involvedObject"].get("namespace", "")
    home = event["metadata"].get("namespace", "")
    mismatch = invalid("involvedObject.namespace", about, "does not match event.namespace")
    if event["eventTime"] is None:  # written by an old client
        if about != home and (about or home != "default"):
            yield mismatch
        return
    if not about and home not in ("default", "kube-system"):
        yield mismatch
    controller = event["reportingComponent"]
    if not controller:
        yield required(reporter)
    yield from each(reporter, controller, formats.qualified(controller))
    for name, limit in _LONGEST.items():
        value = event.get(name, "")
        if not value and name != "message":
            yield required(name)
        if len(value.encode()) > limit:
            yield invalid(name, "", f"can have at most {limit} characters")


def _repeats(event: JsonObject) -> Iterator[Cause]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if series["lastObservedTime"] is None:
        yield required("series.lastObservedTime")


def _modern(event: JsonObject) -> Iterator[Cause]:
    if event["eventTime"] is None:
        yield required("eventTime")
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {kind}")
    yield from (invalid(name, "", "needs to be unset") for name in _OBSOLETE if event.get(name))


def _internal(name: str, value: Json) -> Json:
    """A value as the API server's internal type spells it."""
    match name:
        case "source":
            return {"Component": value.get("component", ""), "Host": value.get("host", "")}
        case "involvedObject" | "related" if value is not None:
            return {spelled: value.get(field, "") for field, spelled in _REFERENCE.items()}
    return value
