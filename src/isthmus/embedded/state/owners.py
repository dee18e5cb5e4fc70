"""Who depends on whom: the index that garbage collection works from."""

from collections.abc import Iterable

from isthmus.embedded.state.store import Event, Key, Record
from isthmus.model.wire import JsonObject


def references(obj: JsonObject) -> list[JsonObject]:
    return obj["metadata"].get("ownerReferences") or []


class Owners:
    """Living objects by uid, and the dependants of every uid that is named as an owner."""

    def __init__(self) -> None:
        self._living: dict[str, Key] = {}
        self._dependants: dict[str, set[Key]] = {}

    def living(self, uid: str) -> Key | None:
        return self._living.get(uid)

    def dependants(self, uid: str) -> list[Key]:
        return sorted(self._dependants.get(uid, ()))

    def reset(self, records: Iterable[Record]) -> None:
        self._living, self._dependants = {}, {}
        for record in records:
            self._add(record)

    def note(self, event: Event) -> None:
        if event.before is not None:
            self._discard(event.before)
        if event.after is not None:
            self._add(event.after)

    def _add(self, record: Record) -> None:
        if uid := record.object["metadata"].get("uid"):
            self._living[uid] = record.key
        for reference in references(record.object):
            self._dependants.setdefault(reference["uid"], set()).add(record.key)

    def _discard(self, record: Record) -> None:
        self._living.pop(record.object["metadata"].get("uid", ""), None)
        for reference in references(record.object):
            dependants = self._dependants.get(reference["uid"], set())
            dependants.discard(record.key)
            if not dependants:
                self._dependants.pop(reference["uid"], None)
