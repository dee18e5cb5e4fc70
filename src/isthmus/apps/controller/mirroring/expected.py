"""What we have written and the local watch has not shown yet.

Planning a name again from a view that lacks our own last write would repeat it. So a name rests
from its first write until the watch has shown all of them, and is planned once more then: it need
not be queued meanwhile. It does not rest for ever, because a write that somebody else's write has
overtaken may never be shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

from isthmus.model.actions import Written
from isthmus.model.objects import Key
from isthmus.runtime.clock import Clock
from isthmus.runtime.workqueue import Lane

PATIENCE = 10.0  # seconds until a name is planned again in any case
GONE = ""  # stands for the version of what is deleted, or being deleted


class Thing(NamedTuple):
    """One object that is written under a name."""

    kind: type[Written]
    key: Key


Versions: TypeAlias = set[str]


@dataclass(slots=True)
class _Rest:
    """``until`` is set when the last write is done; ``wish`` when the name was to be queued."""

    writing: Thing | None = None
    awaited: set[Thing] = field(default_factory=set)
    until: float = inf
    wish: Lane | None = None


class Expected:
    """Our writes on their way back to us. ``queue`` takes names that have rested."""

    def __init__(self, clock: Clock, queue: Callable[[Key, Lane], None]) -> None:
        self._clock = clock
        self._queue = queue
        self._rests: dict[Key, _Rest] = {}
        self._writing: dict[Thing, Versions] = {}  # seen since the request was sent
        self._awaited: dict[Thing, tuple[Key, str]] = {}

    def left(self, name: Key) -> float:
        """Return for how long ``name`` rests if nothing is shown; 0 if it does not."""
        rest = self._rests.get(name)
        if rest is None:
            return 0.0
        left = rest.until - self._clock.now()
        if left > 0:
            return left
        self._forget(name)
        return 0.0

    def defers(self, name: Key, lane: Lane) -> bool:
        """Tell whether ``name`` rests; it is queued afterwards, in this lane or a better one."""
        rest = self._rests.get(name)
        if rest is None:
            return False
        if rest.wish is not Lane.SINGLE:
            rest.wish = lane
        return True

    def writing(self, name: Key, thing: Thing) -> None:
        """Note that a request is about to be sent: its effect may be seen before its answer."""
        self._rests.setdefault(name, _Rest()).writing = thing
        self._writing[thing] = set()

    def written(self, name: Key, thing: Thing, version: str) -> None:
        """Expect the watch to show ``version`` of ``thing``, unless it has already."""
        seen = self._writing.pop(thing)
        self._met(thing)
        if version not in seen:
            self._awaited[thing] = (name, version)
            self._rests[name].awaited.add(thing)

    def failed(self, name: Key) -> None:
        """Not all writes were done: whoever tries again plans anew."""
        wish = self._forget(name)
        if wish is not None:
            self._queue(name, wish)

    def finished(self, name: Key) -> float:
        """All writes are done. Return for how long ``name`` rests at most; 0 if it does not."""
        rest = self._rests.get(name)
        if rest is None:
            return 0.0
        rest.until = self._clock.now() + PATIENCE
        self._rested(name, rest)
        return PATIENCE if rest.awaited else 0.0

    def seen(self, thing: Thing, version: str) -> None:
        """Take in what the watch shows."""
        if thing in self._writing:
            self._writing[thing].add(version)
        if thing in self._awaited and self._awaited[thing][1] == version:
            self._met(thing)

    def relisted(self, kind: type[Written]) -> None:
        """A complete snapshot of one kind is newer than any write before it."""
        for thing in [one for one in self._awaited if one.kind is kind]:
            self._met(thing)

    def _met(self, thing: Thing) -> None:
        awaited = self._awaited.pop(thing, None)
        if awaited is not None:
            name, _ = awaited
            rest = self._rests[name]
            rest.awaited.discard(thing)
            self._rested(name, rest)

    def _rested(self, name: Key, rest: _Rest) -> None:
        if not rest.awaited and rest.until < inf:
            del self._rests[name]
            self._queue(name, rest.wish or Lane.BULK)

    def _forget(self, name: Key) -> Lane | None:
        rest = self._rests.pop(name, _Rest())
        if rest.writing is not None:
            self._writing.pop(rest.writing, None)
        for thing in rest.awaited:
            del self._awaited[thing]
        return rest.wish
