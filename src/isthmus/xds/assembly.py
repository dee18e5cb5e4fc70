"""A snapshot in the making: resources by what they are for, replaced a part at a time.

What a change costs is that of the parts that it touches: all else is shared with the snapshot
before, so that whoever compares the two finds out by looking at what is not the same object.
"""

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType

from isthmus.xds.references import Reference, references
from isthmus.xds.resources import Resource
from isthmus.xds.snapshot import EMPTY, Entry, Snapshot

Part = Hashable


class Assembly:
    """The resources of one proxy, or of many that are told the same."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Entry]] = {}
        self._owners: dict[Reference, Part] = {}
        self._names: dict[Part, frozenset[Reference]] = {}
        self._stale: set[str] = set()
        self._snapshot = EMPTY

    @property
    def parts(self) -> Mapping[Part, frozenset[Reference]]:
        """What there is, by what it is for."""
        return self._names

    def put(self, part: Part, found: Iterable[Resource]) -> None:
        """Let ``part`` be these resources, and no others; without any, it is gone."""
        entries = {_reference(one): self._entry(one) for one in found}
        for reference in self._names.pop(part, frozenset()) - entries.keys():
            # Another part may have taken the name over meanwhile.
            if self._owners.get(reference) == part:
                del self._owners[reference]
                del self._entries[reference.type_url][reference.name]
                self._stale.add(reference.type_url)
        if entries:
            self._names[part] = frozenset(entries)
        for reference, entry in entries.items():
            self._owners[reference] = part
            known = self._entries.setdefault(reference.type_url, {})
            if known.get(reference.name) is not entry:
                known[reference.name] = entry
                self._stale.add(reference.type_url)

    def owner(self, reference: Reference) -> Part | None:
        """Return what a resource is for."""
        return self._owners.get(reference)

    def snapshot(self) -> Snapshot:
        """Return how things stand; the same object as before if nothing has changed."""
        if self._stale:
            fresh = {one: MappingProxyType(dict(self._entries[one])) for one in self._stale}
            self._snapshot = Snapshot(MappingProxyType({**self._snapshot.types, **fresh}))
            self._stale.clear()
        return self._snapshot

    def _entry(self, resource: Resource) -> Entry:
        known = self._entries.get(resource.type_url, {}).get(resource.name)
        if known is not None and known.version == resource.version:
            return known
        return Entry(resource, references(resource))


def _reference(resource: Resource) -> Reference:
    return Reference(resource.type_url, resource.name)
