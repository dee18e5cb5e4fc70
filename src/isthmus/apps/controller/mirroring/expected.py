"""What we have written and the local watch has not shown yet.

Planning a name again from a view that lacks our own last write would repeat it. So a name rests
from its first write until the watch has shown all of them, and is planned once more then: it need
not be queued meanwhile. It does not rest for ever, because a write that somebody else's write has
overtaken may never be shown; and a name that had much to write rests for a while in any case.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias, TypeVar

from isthmus.model.actions import Written
from isthmus.model.objects import Key
from isthmus.runtime.clock import GRAIN, Clock
from isthmus.runtime.workqueue import Lane

PATIENCE = 10.0  # seconds until a name is planned again in any case
GONE = ""  # stands for the version of what is deleted, or being deleted


class Thing(NamedTuple):
    """One object that is written under a name."""

    kind: type[Written]
    key: Key


Versions: TypeAlias = set[str]
V = TypeVar("V")


@dataclass(slots=True)
class _Rest:
    """``until`` is set when the last write is done, and so is ``least``, before which it does not
    end; ``wish`` when the name was to be queued."""

    writing: Thing | None = None
    awaited: set[Thing] = field(default_factory=set)
    until: float = inf
    least: float = 0.0
    wish: Lane | None = None

    @property
    def is_shown(self) -> bool:
        """Whether all is written, and all of it was seen."""
        return not self.awaited and self.until < inf


class Expected:
    """Our writes on their way back to us. ``queue`` takes names that have rested."""

    def __init__(self, clock: Clock, queue: Callable[[Key, Lane], None]) -> None:
        self._clock = clock
        self._queue = queue
        self.owners: Counter[str] = Counter()  # links, of which so many names are being written
        self._rests: dict[Key, _Rest] = {}
        # By the name that writes it: several make the same namespace. What was seen since the
        # request was sent, and the version that is to be seen.
        self._writing: dict[Thing, dict[Key, Versions]] = {}
        self._awaited: dict[Thing, dict[Key, str]] = {}

    @contextmanager
    def during(self, links: Set[str]) -> Iterator[None]:
        """Note whose mirrors are being written, from the first request to the last answer."""
        self.owners.update(links)
        try:
            yield
        finally:
            for uid in links:
                self.owners[uid] -= 1
                if not self.owners[uid]:
                    del self.owners[uid]

    def left(self, name: Key) -> float:
        """Return for how long ``name`` rests if nothing is shown; 0 if it does not."""
        rest = self._rests.get(name)
        if rest is None:
            return 0.0
        left = (rest.least if rest.is_shown else rest.until) - self._clock.now()
        if left > GRAIN:
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
        self._writing.setdefault(thing, {})[name] = set()

    def written(self, name: Key, thing: Thing, version: str) -> None:
        """Expect the watch to show ``version`` of ``thing``, unless it has already."""
        seen = _taken(self._writing, thing, name) or set()
        self._met(name, thing)
        if version not in seen:
            self._awaited.setdefault(thing, {})[name] = version
            self._rests[name].awaited.add(thing)

    def failed(self, name: Key) -> None:
        """Not all writes were done: whoever tries again plans anew."""
        wish = self._forget(name)
        if wish is not None:
            self._queue(name, wish)

    def finished(self, name: Key, pause: float = 0.0) -> float:
        """All writes are done. Return for how long ``name`` rests; 0 if it does not.

        If it rests until something is shown, that is the most; a ``pause`` it rests in any case,
        and does not go behind others for it.
        """
        rest = self._rests.get(name)
        if rest is None:
            return 0.0
        now = self._clock.now()
        rest.until, rest.least = now + PATIENCE, now + pause
        if pause:
            rest.wish = Lane.SINGLE
        self._rested(name, rest)
        return pause or (PATIENCE if rest.awaited else 0.0)

    def seen(self, thing: Thing, version: str) -> None:
        """Take in what the watch shows."""
        for versions in self._writing.get(thing, {}).values():
            versions.add(version)
        awaited = self._awaited.get(thing, {})
        for name in [name for name, wanted in awaited.items() if wanted == version]:
            self._met(name, thing)

    def relisted(self, kind: type[Written]) -> None:
        """A complete snapshot of one kind is newer than any write before it."""
        for thing in [one for one in self._awaited if one.kind is kind]:
            for name in list(self._awaited[thing]):
                self._met(name, thing)

    def _met(self, name: Key, thing: Thing) -> None:
        if _taken(self._awaited, thing, name) is not None:
            rest = self._rests[name]
            rest.awaited.discard(thing)
            self._rested(name, rest)

    def _rested(self, name: Key, rest: _Rest) -> None:
        if rest.is_shown and rest.least <= self._clock.now():
            del self._rests[name]
            self._queue(name, Lane.BULK if rest.wish is None else rest.wish)

    def _forget(self, name: Key) -> Lane | None:
        rest = self._rests.pop(name, _Rest())
        if rest.writing is not None:
            _taken(self._writing, rest.writing, name)
        for thing in rest.awaited:
            _taken(self._awaited, thing, name)
        return rest.wish


def _taken(found: dict[Thing, dict[Key, V]], thing: Thing, name: Key) -> V | None:
    """Take what ``name`` has there of ``thing``, and leave nothing empty behind."""
    names = found.get(thing, {})
    value = names.pop(name, None)
    if thing in found and not names:
        del found[thing]
    return value
