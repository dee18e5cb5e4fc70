"""``metadata.managedFields``: who owns which fields of an object, read and written."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from isthmus.embedded.patches import fieldpaths
from isthmus.embedded.patches.fieldpaths import FieldSet
from isthmus.model.times import second_time
from isthmus.model.wire import Json, JsonObject

MOST_UPDATERS = 10  # more are folded into one entry
_FOLDED = "ancient-changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldManager:
    """Who writes, through which subresource, and when."""

    name: str
    now: datetime
    operation: str = "Update"  # or Apply
    subresource: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One entry of managedFields."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str | None = None  # absent when taking ownership has changed no value
    fields: FieldSet = frozenset()

    @property
    def identity(self) -> tuple[str, ...]:
        """Entries of one identity are one; an applier keeps its entry across versions."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.manager, self.operation, version, self.subresource)

    def __str__(self) -> str:
        """As conflicts name it."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            text += f" using {self.api_version}"
        return text

    def keeping(self, fields: FieldSet) -> Self:
        return replace(self, fields=fields)


def owner(who: FieldManager, api_version: str, fields: FieldSet) -> Owner:
    return Owner(
        manager=who.name,
        operation=who.operation,
        api_version=api_version,
        subresource=who.subresource,
        # The real server, too, forgets the time of what comes through scale.
        time=None if who.subresource == "scale" else second_time(who.now),
        fields=fields,
    )


def read(obj: JsonObject) -> list[Owner] | None:
    """The owners of ``obj``; None if its managedFields cannot be understood."""
    entries: Json = (obj.get("metadata") or {}).get("managedFields") or []
    found: list[Owner] = []
    for entry in entries if isinstance(entries, list) else [None]:
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            return None
        if entry.get("fieldsType") != "FieldsV1" or not entry.get("apiVersion"):
            return None
        found.append(
            Owner(
                manager=entry.get("manager", ""),
                operation=entry["operation"],
                api_version=entry["apiVersion"],
                subresource=entry.get("subresource", ""),
                time=entry.get("time"),
                fields=fieldpaths.decoded(entry.get("fieldsV1") or {}),
            )
        )
    return found


def written(obj: JsonObject, owners: Iterable[Owner]) -> JsonObject:
    """A copy of ``obj`` with these owners; those of nothing are left out."""
    entries = [_entry(one) for one in _capped(_sorted(owners)) if one.fields]
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    if entries:
        meta["managedFields"] = entries
    return {**obj, "metadata": meta}


def _entry(one: Owner) -> JsonObject:
    entry: JsonObject = {
        "manager": one.manager,
        "operation": one.operation,
        "apiVersion": one.api_version,
    }
    if one.time:
        entry["time"] = one.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": fieldpaths.encoded(one.fields)}
    if one.subresource:
        entry["subresource"] = one.subresource
    return entry


def _sorted(owners: Iterable[Owner]) -> list[Owner]:
    def order(one: Owner) -> tuple[str, ...]:
        return (one.operation, one.time or "", one.manager, one.api_version, one.subresource)

    return sorted(owners, key=order)


def _capped(owners: list[Owner]) -> list[Owner]:
    """Fold the oldest updaters into one, so that managedFields cannot grow without end."""
    updaters = [one for one in owners if one.operation == "Update"]
    surplus = len(updaters) - MOST_UPDATERS
    if surplus <= 0:
        return owners
    oldest = updaters[: surplus + 1]
    folded: dict[str, Owner] = {}
    for one in oldest:
        known = folded.get(one.api_version)
        fields = one.fields | (known.fields if known else frozenset())
        folded[one.api_version] = replace(one, manager=_FOLDED, subresource="", fields=fields)
    return _sorted([*(one for one in owners if one not in oldest), *folded.values()])
