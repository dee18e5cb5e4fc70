"""Garbage collection: dependants go when the last of their owners has gone."""

from isthmus.embedded.api import deleting
from isthmus.embedded.api.deleting import FOREGROUND, ORPHAN
from isthmus.embedded.state.owners import references
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Event, Key, Record
from isthmus.model.wire import JsonObject


def react(plane: Plane, event: Event) -> None:
    if event.after is None and event.before is not None:
        for key in plane.owners.dependants(event.before.object["metadata"]["uid"]):
            _collect(plane, key)
        for reference in references(event.before.object):
            if owner := plane.owners.living(reference["uid"]):
                _release(plane, owner)
    elif event.after is not None:
        if references(event.after.object):
            _collect(plane, event.key)
        _release(plane, event.key)


def _collect(plane: Plane, key: Key) -> None:
    """Delete a dependant without a living owner; drop its references to those that are gone."""
    record = plane.store.get(key)
    if record is None or record.object["metadata"].get("deletionTimestamp"):
        return
    kind = plane.registry.stored(key.resource)
    owners = references(record.object)
    if kind is None or not owners:
        return
    gone = [reference for reference in owners if _gone(plane, key, reference)]
    waiting = [one for one in owners if one not in gone and _waits(plane, one)]
    solid = [one for one in owners if one not in gone and one not in waiting]
    if solid:
        if len(solid) < len(owners):
            _own(plane, record, solid)
        return
    policy = "Foreground" if waiting and plane.owners.dependants(_uid(record)) else "Background"
    if deleting.propagation(record.object) == ORPHAN:
        policy = "Orphan"
    deleting.delete(plane, kind, key, deleting.Options(propagation_policy=policy))


def _uid(record: Record) -> str:
    return str(record.object["metadata"]["uid"])


def _gone(plane: Plane, key: Key, reference: JsonObject) -> bool:
    """Whether an owner is known not to exist. Of an unknown kind, nothing is known."""
    kind = plane.registry.named(reference["apiVersion"], reference["kind"])
    if kind is None:
        return False
    namespace = key.namespace if kind.namespaced else ""
    expected = Key(kind.resource, namespace, reference["name"])
    return plane.owners.living(reference["uid"]) != expected


def _waits(plane: Plane, reference: JsonObject) -> bool:
    """Whether an owner stays only until its dependants have gone."""
    key = plane.owners.living(reference["uid"])
    record = plane.store.get(key) if key else None
    return record is not None and bool(
        record.object["metadata"].get("deletionTimestamp")
        and deleting.propagation(record.object) == FOREGROUND
    )


def _own(plane: Plane, record: Record, owners: list[JsonObject]) -> None:
    metadata = {k: v for k, v in record.object["metadata"].items() if k != "ownerReferences"}
    if owners:
        metadata["ownerReferences"] = owners
    plane.store.put(record.key, {**record.object, "metadata": metadata})


def _release(plane: Plane, key: Key) -> None:
    """Let an owner go that waits for its dependants: to be deleted, or to be orphaned."""
    record = plane.store.get(key)
    if record is None or not record.object["metadata"].get("deletionTimestamp"):
        return
    policy = deleting.propagation(record.object)
    uid = _uid(record)
    if policy == ORPHAN:
        for dependant in _dependants(plane, uid):
            _own(plane, dependant, [r for r in references(dependant.object) if r["uid"] != uid])
    elif policy == FOREGROUND:
        for dependant in _dependants(plane, uid):
            _collect(plane, dependant.key)
        if any(_blocks(dependant, uid) for dependant in _dependants(plane, uid)):
            return
    else:
        return
    _unhold(plane, key, policy)


def _dependants(plane: Plane, uid: str) -> list[Record]:
    found = (plane.store.get(key) for key in plane.owners.dependants(uid))
    return [record for record in found if record is not None]


def _blocks(dependant: Record, uid: str) -> bool:
    return any(
        reference["uid"] == uid and reference.get("blockOwnerDeletion")
        for reference in references(dependant.object)
    )


def _unhold(plane: Plane, key: Key, finalizer: str) -> None:
    record = plane.store.get(key)
    if record is None:
        return
    metadata = {**record.object["metadata"]}
    left = [name for name in metadata.pop("finalizers", []) if name != finalizer]
    if left:
        metadata["finalizers"] = left
    wanted = {**record.object, "metadata": metadata}
    if deleting.finished(wanted):
        plane.store.remove(key)
    else:
        plane.store.put(key, wanted)
