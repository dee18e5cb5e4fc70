"""All that a proxy should hold at one moment, and which resource needs which other one.

A snapshot is never changed, only followed by another one. The next one shares with it all that
stayed the same, so that what changed is found by comparing identities, and only what changed is
parsed again.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from isthmus.xds.references import Reference, references
from isthmus.xds.resources import Resource, Resources


class Entry(NamedTuple):
    """A resource, and the resources that it refers to by name."""

    resource: Resource
    needs: frozenset[Reference] = frozenset()

    @property
    def version(self) -> str:
        return self.resource.version


class Snapshot(NamedTuple):
    """Entries by type URL and name."""

    types: Mapping[str, Mapping[str, Entry]] = MappingProxyType({})

    def of(self, type_url: str) -> Mapping[str, Entry]:
        return self.types.get(type_url, {})


EMPTY = Snapshot()


def snapshot(resources: Resources, previous: Snapshot = EMPTY) -> Snapshot:
    """Take a snapshot of these resources; what the previous one has already is shared with it."""
    types = {}
    for type_url, named in resources.items():
        known = previous.of(type_url)
        entries = {name: _entry(one, known.get(name)) for name, one in named.items()}
        types[type_url] = known if _identical(known, entries) else entries
    return Snapshot(MappingProxyType(types))


class Dangling(NamedTuple):
    """A resource that refers to one which is not there."""

    type_url: str
    name: str
    missing: Reference

    def __str__(self) -> str:
        kind, wanted = _kind(self.type_url), _kind(self.missing.type_url)
        return f"{kind} {self.name!r} refers to {wanted} {self.missing.name!r}, which is not there"


def dangling(snapshot: Snapshot) -> Iterator[Dangling]:
    """Yield every reference into nothing; a consistent snapshot has none."""
    for type_url, entries in snapshot.types.items():
        for name, entry in entries.items():
            for need in entry.needs:
                if not need.is_wide and need.name not in snapshot.of(need.type_url):
                    yield Dangling(type_url, name, need)


def _entry(resource: Resource, known: Entry | None) -> Entry:
    if known is not None and known.version == resource.version:
        return known
    return Entry(resource, references(resource))


def _identical(known: Mapping[str, Entry], entries: Mapping[str, Entry]) -> bool:
    return len(known) == len(entries) and all(
        entries.get(name) is entry for name, entry in known.items()
    )


def _kind(type_url: str) -> str:
    return type_url.rpartition(".")[2]
