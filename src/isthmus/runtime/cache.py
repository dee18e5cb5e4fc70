"""The last known state of a collection, folded from events and indexed as it changes.

A watcher emits ``Listed``, ``Put`` and ``Gone``; the cache answers with what really changed,
before and after, so that the consumer can queue both the key that an object points at now and
the one that it pointed at until now.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from typing import Generic, Never, TypeAlias, TypeVar, assert_never

import msgspec

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
V = TypeVar("V", bound=Hashable)

NOTHING: frozenset[Never] = frozenset()


class Listed(msgspec.Struct, Generic[K, T], frozen=True):
    """Everything that exists: whatever the cache holds beyond it is gone.

    ``unreadable`` names objects that exist but could not be decoded; they keep their last
    known value, because a value we cannot read is no reason to act as if it were deleted.
    """

    objects: tuple[T, ...]
    unreadable: frozenset[K] = frozenset()


class Put(msgspec.Struct, Generic[T], frozen=True):
    """This object exists, new or changed."""

    object: T


class Gone(msgspec.Struct, Generic[K], frozen=True):
    """No object has this key any more."""

    key: K


Event: TypeAlias = Listed[K, T] | Put[T] | Gone[K]


class Change(msgspec.Struct, Generic[K, T], frozen=True):
    """One key whose value differs: ``before`` is None if it is new, ``after`` if it is gone."""

    key: K
    before: T | None
    after: T | None


class Index(Generic[K, T, V]):
    """The keys of a cache by a property of their objects, kept as the cache changes."""

    def __init__(self, values: Callable[[T], Iterable[V]]) -> None:
        self._values = values
        self._keys: dict[V, set[K]] = {}

    def __getitem__(self, value: V) -> Set[K]:
        """Return the keys of the objects that have ``value``; none is an empty set."""
        return self._keys.get(value, NOTHING)

    def __iter__(self) -> Iterator[V]:
        """Iterate over the values that at least one object has."""
        return iter(self._keys)

    def update(self, change: Change[K, T]) -> None:
        before = NOTHING if change.before is None else frozenset(self._values(change.before))
        after = NOTHING if change.after is None else frozenset(self._values(change.after))
        if before == after:
            return
        for value in before - after:
            keys = self._keys[value]
            keys.discard(change.key)
            if not keys:
                del self._keys[value]
        for value in after - before:
            self._keys.setdefault(value, set()).add(change.key)


class Cache(Generic[K, T]):
    """Objects by key. ``synced`` turns true with the first complete snapshot and stays so."""

    def __init__(self, key: Callable[[T], K]) -> None:
        self._key = key
        self._objects: dict[K, T] = {}
        self._followers: list[Callable[[Change[K, T]], None]] = []
        self.synced = False

    @property
    def objects(self) -> Mapping[K, T]:
        return self._objects

    def index(self, values: Callable[[T], Iterable[V]]) -> Index[K, T, V]:
        """Keep an index by ``values``, which must depend on nothing but the object."""
        made = Index[K, T, V](values)
        self.follow(made.update)
        return made

    def follow(self, update: Callable[[Change[K, T]], None]) -> None:
        """Have ``update`` called for all that is there, and from now on for whatever takes its
        place, be it the same again: who holds on to objects holds those of the cache."""
        for key, value in self._objects.items():
            update(Change(key, None, value))
        self._followers.append(update)

    def fold(self, event: Event[K, T]) -> list[Change[K, T]]:
        """Take ``event`` in and return what it changed; the cost is that of the event."""
        match event:
            case Listed(objects, unreadable):
                return self._replace(objects, unreadable)
            case Put(value):
                return self._set(self._key(value), value)
            case Gone(key):
                return self._set(key, None)
            case _:
                assert_never(event)

    def _replace(self, objects: tuple[T, ...], unreadable: frozenset[K]) -> list[Change[K, T]]:
        changes: list[Change[K, T]] = []
        left = self._objects.keys() - unreadable
        for value in objects:
            key = self._key(value)
            left.discard(key)
            changes += self._set(key, value)
        for key in left:
            changes += self._set(key, None)
        self.synced = True
        return changes

    def _set(self, key: K, after: T | None) -> list[Change[K, T]]:
        before = self._objects.get(key)
        if before is after:
            return []
        if after is None:
            del self._objects[key]
        else:
            self._objects[key] = after
        change = Change(key, before, after)
        for update in self._followers:
            update(change)
        return [] if before == after else [change]
