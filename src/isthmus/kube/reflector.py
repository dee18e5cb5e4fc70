"""Decides how to stay in step with a collection on a server: when to list, watch and wait.

No I/O happens here: :mod:`isthmus.kube.reflect` does what ``next`` says and tells what came of
it. The rules are those of Kubernetes' own clients, with two of ours. Nothing counts as a
snapshot unless it is complete. And no watch is trusted for ever: from time to time the server's
list is compared with what we have, because a watch that lost an event does not know it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Generic, TypeVar, assert_never

from isthmus.kube.audit import Auditor, Comparison, Intervals
from isthmus.kube.codec import Bad, Page, key_of, uid_of
from isthmus.kube.errors import (
    Ahead,
    Expired,
    Forbidden,
    Garbled,
    NotFound,
    Rejected,
    Throttled,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from isthmus.kube.pinned import IdentityChanged
from isthmus.kube.steps import Audit, List, Step, Stream, Wait, Watch
from isthmus.kube.watch import Bookmark, Failed, Seen, WatchEvent
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.cache import Event, Gone, Listed, Put
from isthmus.runtime.clock import GRAIN

T = TypeVar("T")

NAMED = 1000  # unreadable objects that are remembered by name; the rest is counted
BACKOFF = Backoff(first=0.8, cap=30.0)
AUDIT = Intervals()
STUCK = 5  # failures in a row at one version after which that version is given up


class State(Enum):
    """How far what we have can be relied upon."""

    CONNECTING = "Connecting"  # no contact yet
    SYNCING = "Syncing"  # reading the first snapshot
    SYNCED = "Synced"  # a complete snapshot, and a watch that goes on from it
    STALE = "Stale"  # a complete snapshot that may be out of date


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds, all of them."""

    backoff: Backoff = BACKOFF
    # A watch that ended sooner counts as a failure. One that lasted longer makes failures before it
    # forgotten: where connections break now and then, each break would cost more than the last.
    brief: float = 5.0
    # A server promises bookmarks only where something has moved on since the watch began: on a
    # cluster at rest there is none. So a watch ends before its silence is taken for death.
    shortest_watch: float = 60.0
    longest_watch: float = 75.0
    initial: float = 120.0  # for a stream to deliver its initial state
    audit: Intervals = AUDIT


@dataclass(slots=True)
class Session:
    """What one watch has brought so far."""

    opened_at: float | None = None
    progressed: bool = False


@dataclass(slots=True)
class Initial(Generic[T]):
    """The snapshot that a stream is still delivering; worth nothing until it is complete."""

    ends_at: float
    objects: dict[Key, T] = field(default_factory=dict)
    bad: dict[Key, Bad] = field(default_factory=dict)

    def add(self, seen: Seen[T]) -> None:
        self.objects.pop(seen.key, None)
        self.bad.pop(seen.key, None)
        match seen.event:
            case Put(obj):
                self.objects[seen.key] = obj
            case Bad() as bad:
                self.bad[seen.key] = bad


class Reflector(Generic[T]):
    """The reflection of one collection: what is known about it, and what to do next."""

    def __init__(
        self,
        random: Random,
        timing: Timing | None = None,
        *,
        # A stream keeps the memory of old API servers flat, which lists in pages do as well. But
        # it is not compressed and costs us twice the CPU: docs/performance.md has the figures.
        streaming: bool = False,
        changed: Callable[[State], object] = lambda _: None,
    ) -> None:
        self.state = State.CONNECTING
        self.synced_at: float | None = None  # when the last complete snapshot came
        self.error: IsthmusError | None = None  # what is wrong now
        self.snapshots = 0
        self.divergences = 0  # objects that a watch had got wrong
        self.unreadable: dict[Key, str] = {}  # objects we cannot read, and why
        self._random = random
        self._timing = timing or Timing()
        self._auditor = Auditor(random, self._timing.audit)
        self._streaming = streaming
        self._changed = changed
        self._version: str | None = None  # to go on from; None asks for a snapshot
        self._known: dict[Key, T | None] = {}  # what was emitted; None is unreadable
        self._failures = 0
        self._stuck = 0
        self._not_before = 0.0
        self._session = Session()
        self._initial: Initial[T] | None = None

    @property
    def due_at(self) -> float:
        """When a watch that is still open must be left to do something else."""
        return self._initial.ends_at if self._initial else self._auditor.due_at

    @property
    def delivering(self) -> bool:
        """Whether a stream is still delivering its initial state."""
        return self._initial is not None

    def next(self, now: float) -> Step:
        """Return what to do now."""
        soon = now + GRAIN
        lost = self._auditor.lost(soon)
        if lost:
            self.divergences += lost
            self._version = None
            self._enter(State.STALE)
        if soon < self._not_before:
            return Wait(self._not_before - now)
        if self._version is None:
            # After a failure the other way of getting a snapshot has its turn, too.
            if self._streaming and self._failures % 2 == 0:
                self._session = Session()
                self._initial = Initial(now + self._timing.initial)
                return Stream(self._watch_seconds())
            return List()
        if self._auditor.wants_comparison(soon):
            return Audit()
        self._session = Session()
        return Watch(self._version, self._watch_seconds())

    def listed(self, page: Page[T], now: float) -> Event[Key, T]:
        """Take in a complete list, which replaces everything before it."""
        self._known = {key_of(obj): obj for obj in page.objects}
        self._known |= dict.fromkeys(bad.key for bad in page.bad)
        self.unreadable = {}
        for bad in page.bad:
            self._remember(bad)
        self._version = page.resource_version
        self._auditor.restart(now)
        self.snapshots += 1
        self.synced_at = now
        self.error = None
        self._enter(State.SYNCED)
        return Listed(page.objects, frozenset(bad.key for bad in page.bad))

    def comparison(self) -> Comparison[T]:
        """Return something to compare the server's list with."""
        return Comparison(self._known)

    def audited(self, comparison: Comparison[T], now: float) -> None:
        """Take in a comparison with a complete list."""
        self._auditor.suspect(comparison.differences(), now)

    def audit_failed(self, error: IsthmusError, now: float) -> None:
        """Go on without the comparison; the watch will show whether something is wrong."""
        self.error = error
        self._auditor.postpone(now)

    def opened(self, now: float) -> None:
        """A watch has been accepted."""
        self._session.opened_at = now
        if self._initial is None:
            self._auditor.opened(now)
            self.error = None
            self._enter(State.SYNCED)
        elif self.synced_at is None:
            self._enter(State.SYNCING)

    def received(self, event: WatchEvent[T], now: float) -> Event[Key, T] | None:
        """Take in an event and return what it means; raise the error that it stands for."""
        match event:
            case Failed(error):
                if self._initial:
                    # Some servers accept a stream and then cannot deliver it: an API server
                    # on an old etcd, for one.
                    self._streaming = False
                raise error
            case Bookmark(version, complete):
                return self._bookmark(version, complete, now)
            case Seen():
                return self._seen(event)
            case _:
                assert_never(event)

    def ended(self, now: float) -> None:
        """The server has closed the watch in good order."""
        if self._initial:
            self.failed(Unreachable("the stream ended before the initial state was complete"), now)
        elif self._is_brief(now):
            self.failed(Unreachable("the watch ended as soon as it had begun"), now)
        else:
            self._failures = 0

    def left(self, now: float) -> None:
        """We have left the watch because something is due."""
        self._forgive(now)
        if self._initial:
            self.failed(Garbled("the stream does not say when its initial state ends"), now)

    def failed(self, error: IsthmusError, now: float) -> None:
        """Note a failure, decide whether the version is still good, and when to try again."""
        self._forgive(now)
        session, self._session = self._session, Session()
        self._failures += 1
        self._auditor.closed()
        self._stuck = 0 if session.progressed else self._stuck + 1
        another_way = False
        if self._initial:
            self._initial = None
            if isinstance(error, Rejected | Garbled):
                self._streaming = False
            another_way = not self._streaming
        elif self._gives_up_version(error, session):
            self._version = None
            self._stuck = 0
            another_way = isinstance(error, Expired)
        self.error = error
        self._enter(State.CONNECTING if self.synced_at is None else State.STALE)
        at_once = another_way and self._failures == 1
        self._not_before = now if at_once else now + self._pause(error)

    def _gives_up_version(self, error: IsthmusError, session: Session) -> bool:
        match error:
            case Expired() | Ahead() | Rejected() | NotFound():
                return True
            case IdentityChanged():
                return True  # whichever cluster is accepted next, its versions may be others
            case Garbled():
                return not session.progressed
            case Unreachable() | Throttled() | Unauthorized() | Forbidden():
                return False
        return self._stuck >= STUCK

    def _pause(self, error: IsthmusError) -> float:
        pause = self._timing.backoff.ceiling(self._failures) * self._random.uniform(0.5, 1.0)
        if isinstance(error, Unavailable) and error.retry_after:
            return max(pause, error.retry_after)
        return pause

    def _forgive(self, now: float) -> None:
        """Forget earlier failures if the watch that ends now was worth it."""
        if not self._is_brief(now):
            self._failures = 0

    def _is_brief(self, now: float) -> bool:
        opened_at = self._session.opened_at
        return opened_at is None or now - opened_at < self._timing.brief

    def _bookmark(self, version: str, complete: bool, now: float) -> Event[Key, T] | None:
        self._session.progressed = True
        if self._initial is None:
            self._version = version
            return None
        if not complete:
            return None
        initial, self._initial = self._initial, None
        page = Page(tuple(initial.objects.values()), tuple(initial.bad.values()), version)
        return self.listed(page, now)

    def _seen(self, seen: Seen[T]) -> Event[Key, T] | None:
        self._session.progressed = True
        if self._initial is not None:
            self._initial.add(seen)
            return None
        self._version = seen.version
        if isinstance(seen.event, Gone) and self._is_former(seen):
            return None
        self._auditor.explained(seen.key)
        match seen.event:
            case Bad() as bad:
                self._known[seen.key] = None
                self._remember(bad)
                return None
            case Put(obj):
                self._known[seen.key] = obj
            case Gone():
                self._known.pop(seen.key, None)
            case never:
                assert_never(never)
        self.unreadable.pop(seen.key, None)
        return seen.event

    def _is_former(self, seen: Seen[T]) -> bool:
        """Tell whether a deletion is that of an object whose name another one has by now.

        A server that repeats itself must not make us take down what is there.
        """
        known = self._known.get(seen.key)
        uid = "" if known is None else uid_of(known)
        return bool(uid and seen.uid) and uid != seen.uid

    def _remember(self, bad: Bad) -> None:
        """Keep the reason, within bounds: a hostile server must not fill our memory."""
        if bad.key in self.unreadable or len(self.unreadable) < NAMED:
            self.unreadable[bad.key] = bad.reason

    def _watch_seconds(self) -> int:
        timing = self._timing
        return round(self._random.uniform(timing.shortest_watch, timing.longest_watch))

    def _enter(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self._changed(state)
