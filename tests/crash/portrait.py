"""What a cluster holds, without what may differ between two that have come to the same end."""

from collections.abc import Callable, Iterator

from isthmus.embedded.state.store import Key, Record, Snapshot
from isthmus.model.names import CREATED_NAMESPACE, MIRRORED
from isthmus.model.wire import Json, JsonObject
from tests.apps.clusters import Place

ASSIGNED = frozenset({"creationTimestamp", "generation", "nodePort", "resourceVersion", "uid"})
TIMES = frozenset({"lastTransitionTime", "time"})  # of a condition, and of a manager of fields
# A lease says who wrote last, and Events are notes for people that nobody keeps.
PASSING = frozenset({"coordination.k8s.io/leases", "events.k8s.io/events", "/events"})
OURS = frozenset({"isthmus.dev/links", *PASSING})
FURNITURE = frozenset({"default", "kube-root-ca.crt"})  # comes and goes with its namespace

Portrait = dict[Key, JsonObject]


def portrait(place: Place) -> Portrait:
    """Return all that is in a cluster; for addresses that were assigned, whose they are."""
    records = [one for one in place.cluster.store.snapshot().records if _stays(one)]
    owners = dict(_addresses(records))
    return {one.key: _without_marks(one.object, owners) for one in records}


def strangers(place: Place, is_ours: Callable[[JsonObject], bool] | None = None) -> dict[Key, int]:
    """Return the revisions of all that is not ours: whoever writes it changes them."""
    ours = is_ours or is_mirroring
    return {
        one.key: one.revision
        for one in place.cluster.store.snapshot().records
        if one.key.resource not in OURS and one.key.name not in FURNITURE and not ours(one.object)
    }


def is_mirroring(obj: JsonObject) -> bool:
    """Tell whether a controller of ours has made an object."""
    labels = obj["metadata"].get("labels") or {}
    return labels.get(MIRRORED) == "true" or CREATED_NAMESPACE in labels


def differences(found: Portrait, wanted: Portrait) -> str:
    """Say how two clusters differ, for people."""
    lines = [
        f"{key}:\n  found  {found.get(key)}\n  wanted {wanted.get(key)}"
        for key in sorted({*found, *wanted})
        if found.get(key) != wanted.get(key)
    ]
    return "\n".join(lines)


def kept(*places: Place) -> list[Snapshot]:
    return [one.cluster.faults.snapshot() for one in places]


def restore(places: tuple[Place, ...], kept: list[Snapshot]) -> None:
    """Make clusters what they were; nobody may be connected to them."""
    for place, snapshot in zip(places, kept, strict=True):
        place.cluster.faults.restore(snapshot)


def _stays(record: Record) -> bool:
    return record.key.resource not in PASSING


def _addresses(records: list[Record]) -> Iterator[tuple[str, str]]:
    for one in records:
        if one.key.resource == "/services":
            for address in one.object["spec"].get("clusterIPs") or ():
                if address != "None":
                    yield address, f"the address of {one.key.namespace}/{one.key.name}"


def _without_marks(obj: Json, owners: dict[str, str]) -> Json:
    if isinstance(obj, dict):
        return {
            name: _without_marks(value, owners)
            for name, value in obj.items()
            if name not in ASSIGNED and name not in TIMES
        }
    if isinstance(obj, list):
        return [_without_marks(one, owners) for one in obj]
    return owners.get(obj, obj) if isinstance(obj, str) else obj
