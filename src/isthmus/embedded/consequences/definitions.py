"""The life of a CustomResourceDefinition: established at once, it takes its objects along."""

from isthmus.embedded.api import deleting
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.registry import CRDS
from isthmus.embedded.state.store import Event, Key, Record
from isthmus.model.wire import JsonObject

_BACKGROUND = deleting.Options(propagation_policy="Background")


def react(plane: Plane, event: Event) -> None:
    if event.key.resource == CRDS and event.after is not None:
        record = plane.store.get(event.key)
        if record is None:
            return
        if record.object["metadata"].get("deletionTimestamp"):
            _clear(plane, record)
        else:
            _establish(plane, record)
    elif event.after is None and (record := _defining(plane, event.key)):
        _clear(plane, record)


def _defining(plane: Plane, key: Key) -> Record | None:
    """The CRD that is being deleted and waits for the last object of its kind."""
    group, _, plural = key.resource.partition("/")
    record = plane.store.get(Key(CRDS, "", f"{plural}.{group}"))
    if record is None or not record.object["metadata"].get("deletionTimestamp"):
        return None
    return record


def _establish(plane: Plane, record: Record) -> None:
    crd = record.object
    spec, status = crd["spec"], crd.get("status") or {}
    names = {**spec["names"]}
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    stored = list(status.get("storedVersions") or [])
    stored += [v["name"] for v in spec["versions"] if v["storage"] and v["name"] not in stored]
    conditions = _conditions(status.get("conditions") or [], plane.timestamp())
    wanted = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
    if wanted != status:
        plane.store.put(record.key, {**crd, "status": wanted})


def _conditions(present: list[JsonObject], now: str) -> list[JsonObject]:
    accepted = {
        "type": "NamesAccepted",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "NoConflicts",
        "message": "no conflicts found",
    }
    established = {
        "type": "Established",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    types = {condition["type"] for condition in present}
    return present + [new for new in (accepted, established) if new["type"] not in types]


def _clear(plane: Plane, crd: Record) -> None:
    spec = crd.object["spec"]
    resource = f"{spec['group']}/{spec['names']['plural']}"
    kind = plane.registry.stored(resource)
    for record in plane.store.scan(resource):
        if kind is not None and not record.object["metadata"].get("deletionTimestamp"):
            deleting.delete(plane, kind, record.key, _BACKGROUND)
    if plane.store.scan(resource):
        return
    metadata = {**crd.object["metadata"]}
    left = [name for name in metadata.pop("finalizers", []) if name != deleting.CLEANUP]
    if left:
        metadata["finalizers"] = left
    wanted = {**crd.object, "metadata": metadata}
    if deleting.finished(wanted):
        plane.store.remove(crd.key)
    elif wanted != crd.object:
        plane.store.put(crd.key, wanted)
