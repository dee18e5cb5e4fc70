"""What we have written and the local watch has not shown yet.

Planning a name again from a view that lacks our own last write would repeat it. So a name rests
until the watch has caught up with what was written under it; not for ever, because a write that
somebody else's write has overtaken may never be shown.
"""

from typing import NamedTuple, TypeAlias

from isthmus.model.actions import Written
from isthmus.model.objects import Key
from isthmus.runtime.clock import Clock

PATIENCE = 10.0  # seconds until a name is planned again in any case
GONE = ""  # stands for the version of what is deleted, or being deleted


class Thing(NamedTuple):
    """One object that is written under a name."""

    kind: type[Written]
    key: Key


Versions: TypeAlias = set[str]


class Expected:
    """Our writes on their way back to us."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._writing: dict[Thing, Versions] = {}  # seen since the request was sent
        self._awaited: dict[Thing, tuple[Key, str]] = {}
        self._resting: dict[Key, set[Thing]] = {}
        self._until: dict[Key, float] = {}

    def left(self, name: Key) -> float:
        """Return for how long ``name`` rests if nothing is shown; 0 if it does not."""
        if name not in self._resting:
            return 0.0
        left = self._until[name] - self._clock.now()
        if left <= 0:
            for thing in tuple(self._resting[name]):
                self._met(thing)
            return 0.0
        return left

    def writing(self, thing: Thing) -> None:
        """Note that a request is about to be sent: its effect may be seen before its answer."""
        self._writing[thing] = set()

    def failed(self, thing: Thing) -> None:
        self._writing.pop(thing, None)

    def written(self, name: Key, thing: Thing, version: str) -> None:
        """Expect the watch to show ``version`` of ``thing``, unless it has already."""
        seen = self._writing.pop(thing, set())
        self._met(thing)
        if version in seen:
            return
        self._awaited[thing] = (name, version)
        self._resting.setdefault(name, set()).add(thing)
        self._until[name] = self._clock.now() + PATIENCE

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
        if awaited is None:
            return
        name, _ = awaited
        things = self._resting[name]
        things.discard(thing)
        if not things:
            del self._resting[name]
            del self._until[name]
