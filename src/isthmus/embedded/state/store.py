"""Objects with one revision counter, their history, and who waits for changes: etcd's part.

The store knows no kinds. It keeps every resource's objects in the order in which etcd would list
them (namespace, then name) and the events that led there, so that a list can be answered as it
was at an earlier revision and a watch can continue from one. Nothing here waits: a write and
everything that follows from it happen at once, and watchers are woken to read the history at
their own pace. A watcher therefore costs no buffer; one that sleeps until its place in the
history has been dropped is told so.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from isthmus.model.wire import JsonObject

Place = tuple[str, str]  # namespace ("" for cluster-scoped objects) and name


class Key(NamedTuple):
    """Where an object lives; ``resource`` is ``group/plural``, ``/plural`` in the core group."""

    resource: str
    namespace: str
    name: str

    @property
    def place(self) -> Place:
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class Record:
    """One object at one revision. ``object`` is shared by all readers: copy before changing."""

    key: Key
    revision: int
    object: JsonObject
    # The JSON of everything but kind and apiVersion. Lists of built-in kinds leave those two out
    # and custom objects are read in several versions, so that this part serves all answers.
    body: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """One change. ``shown`` is what watchers see; of a removal, the last state, newly stamped."""

    revision: int
    key: Key
    before: Record | None
    after: Record | None
    shown: Record


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything there was at one revision, without its history."""

    revision: int
    records: tuple[Record, ...]


class Moved(Exception):
    """A write expected another revision of the object than the one that is stored."""


class Compacted(Exception):
    """The history before ``oldest`` is gone."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"history starts at revision {oldest}")
        self.oldest = oldest


class Follower(Protocol):
    """Keeps something derived from the objects, in step with every write."""

    def reset(self, records: Iterable[Record]) -> None:
        """Start over from ``records``: everything there is."""
        ...

    def note(self, event: Event) -> None: ...


class Subscription:
    """Wakes one watcher when its resource changes or when it has to go."""

    def __init__(self, position: int) -> None:
        self.position = position  # the last revision the watcher has seen
        self.closed = False
        self._wake = asyncio.Event()

    def wake(self) -> None:
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def changed(self) -> None:
        await self._wake.wait()
        self._wake.clear()


@dataclass(slots=True)
class _Shelf:
    """The objects of one resource."""

    records: dict[Place, Record] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)  # sorted
    events: list[Event] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)  # of the events, for bisection
    oldest: int = 0  # what happened up to here has been dropped
    # In the order in which they came, so that the same things happen in the same order each time.
    subscriptions: dict[Subscription, None] = field(default_factory=dict)


class Store:
    """A revisioned map. ``history`` bounds the events that are kept for each resource."""

    def __init__(self, history: int = 100_000) -> None:
        self.revision = 1
        self.compacted = 0
        self._history = history
        self._shelves: dict[str, _Shelf] = {}
        self._followers: list[Follower] = []

    def follow(self, follower: Follower) -> None:
        """Feed ``follower`` what there is and, from now on, every change."""
        follower.reset(self._all())
        self._followers.append(follower)

    def _all(self) -> Iterator[Record]:
        for shelf in self._shelves.values():
            yield from shelf.records.values()

    def _shelf(self, resource: str) -> _Shelf:
        return self._shelves.setdefault(resource, _Shelf())

    # Reading

    def get(self, key: Key, at: int | None = None) -> Record | None:
        shelf = self._shelf(key.resource)
        past = self._undone(key.resource, at)
        return past[key.place] if key.place in past else shelf.records.get(key.place)

    def scan(
        self, resource: str, namespace: str = "", after: Place = ("", ""), at: int | None = None
    ) -> list[Record]:
        """The records behind ``after``, in order, as they were at revision ``at``."""
        shelf = self._shelf(resource)
        past = self._undone(resource, at)
        places = shelf.places
        first = max(after, (namespace, "")) if namespace else after
        start = bisect_right(places, first)
        end = bisect_left(places, (namespace + "\0", "")) if namespace else len(places)
        chosen = places[start:end]
        if not past:
            return [shelf.records[place] for place in chosen]
        bygone = (
            place for place in past if place > first and (not namespace or place[0] == namespace)
        )
        return [
            record
            for place in sorted({*chosen, *bygone})
            if (record := past[place] if place in past else shelf.records[place]) is not None
        ]

    def namespaced(self, namespace: str) -> list[Record]:
        """Everything that lives in ``namespace``."""
        resources = sorted(self._shelves)
        return [record for resource in resources for record in self.scan(resource, namespace)]

    def _undone(self, resource: str, at: int | None) -> Mapping[Place, Record | None]:
        """What the places that changed after ``at`` held then."""
        if at is None or at >= self.revision:
            return {}
        return {event.key.place: event.before for event in reversed(self.since(resource, at))}

    def since(self, resource: str, revision: int) -> list[Event]:
        """The changes after ``revision``. Raises :class:`Compacted` if some have been dropped."""
        shelf = self._shelf(resource)
        if revision < (oldest := max(shelf.oldest, self.compacted)):
            raise Compacted(oldest)
        return shelf.events[bisect_right(shelf.revisions, revision) :]

    # Writing

    def put(self, key: Key, obj: JsonObject, expected: int | None = None) -> Record:
        """Store ``obj`` if the present revision is the ``expected`` one (0: there is none)."""
        shelf = self._shelf(key.resource)
        before = shelf.records.get(key.place)
        if expected is not None and (before.revision if before else 0) != expected:
            raise Moved(str(key))
        self.revision += 1
        after = _stamped(key, obj, self.revision)
        shelf.records[key.place] = after
        if before is None:
            insort(shelf.places, key.place)
        self._publish(shelf, Event(self.revision, key, before, after, after))
        return after

    def remove(self, key: Key, expected: int | None = None) -> Record:
        """Remove the object; returns its last state, stamped with the revision of the removal."""
        shelf = self._shelf(key.resource)
        before = shelf.records.get(key.place)
        if before is None or expected not in (None, before.revision):
            raise Moved(str(key))
        self.revision += 1
        last = _stamped(key, before.object, self.revision)
        del shelf.records[key.place]
        del shelf.places[bisect_left(shelf.places, key.place)]
        self._publish(shelf, Event(self.revision, key, before, None, last))
        return last

    def _publish(self, shelf: _Shelf, event: Event) -> None:
        shelf.events.append(event)
        shelf.revisions.append(event.revision)
        if len(shelf.events) > self._history + self._history // 10:
            self._drop(shelf, shelf.revisions[-self._history - 1])
        for follower in self._followers:
            follower.note(event)
        for subscription in shelf.subscriptions:
            subscription.wake()

    # Watching

    @contextmanager
    def subscribed(self, resource: str, position: int) -> Iterator[Subscription]:
        """Be woken at every change of ``resource`` as long as the context lasts."""
        subscriptions = self._shelf(resource).subscriptions
        subscription = Subscription(position)
        subscriptions[subscription] = None
        try:
            yield subscription
        finally:
            subscriptions.pop(subscription, None)

    def missed(self, resource: str, subscription: Subscription) -> list[Event]:
        """What the watcher has not seen yet. Compaction does not harm one that keeps up."""
        shelf = self._shelf(resource)
        if subscription.position < shelf.oldest:
            raise Compacted(shelf.oldest)
        return shelf.events[bisect_right(shelf.revisions, subscription.position) :]

    def disconnect(self) -> None:
        """End every watch."""
        for shelf in self._shelves.values():
            for subscription in shelf.subscriptions:
                subscription.close()

    # Forgetting

    def compact(self, revision: int | None = None) -> None:
        """Make everything before ``revision`` (default: the present) unreadable."""
        self.compacted = max(
            self.compacted, self.revision if revision is None else min(revision, self.revision)
        )
        for shelf in self._shelves.values():
            needed = min((s.position for s in shelf.subscriptions), default=self.compacted)
            self._drop(shelf, min(needed, self.compacted))

    @staticmethod
    def _drop(shelf: _Shelf, upto: int) -> None:
        gone = bisect_right(shelf.revisions, upto)
        del shelf.events[:gone], shelf.revisions[:gone]
        shelf.oldest = max(shelf.oldest, upto)

    def snapshot(self) -> Snapshot:
        return Snapshot(self.revision, tuple(self._all()))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to ``snapshot``, revision counter included, as an etcd restored from a backup."""
        self.disconnect()
        self._shelves = {}
        self.revision = self.compacted = snapshot.revision
        for record in snapshot.records:
            self._shelf(record.key.resource).records[record.key.place] = record
        for shelf in self._shelves.values():
            shelf.places = sorted(shelf.records)
        for follower in self._followers:
            follower.reset(self._all())


def _stamped(key: Key, obj: JsonObject, revision: int) -> Record:
    stamped = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
    bare = {name: value for name, value in stamped.items() if name not in ("kind", "apiVersion")}
    return Record(key, revision, stamped, msgspec.json.encode(bare))
