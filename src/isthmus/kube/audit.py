"""Finds out whether a watch has told the truth, by comparing what we have with the server's list.

A difference alone proves nothing: the list may know of changes that the watch is about to
deliver. Only what the watch does not explain within a grace period was really lost. Whole
objects are compared, not versions: a cluster that was restored from a backup gives the same
versions out again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from isthmus.kube.codec import Page, key_of
from isthmus.model.objects import Key

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Seconds, but for ``spread``."""

    between: float = 600.0  # two comparisons, …
    spread: float = 0.2  # … give or take this share, so that clients do not march in step
    grace: float = 10.0  # for the watch to explain a difference
    retry: float = 60.0  # after a comparison that failed


class Comparison(Generic[T]):
    """What we have beside what the server lists, page by page. None stands for unreadable."""

    def __init__(self, known: Mapping[Key, T | None]) -> None:
        self._known = known
        self._unlisted = set(known)
        self._differing: set[Key] = set()

    def add(self, page: Page[T]) -> None:
        for obj in page.objects:
            self._meet(key_of(obj), obj)
        for bad in page.bad:
            self._meet(bad.key, None)

    def differences(self) -> set[Key]:
        """Return the keys that differ, once all pages have been added."""
        return self._differing | self._unlisted

    def _meet(self, key: Key, listed: T | None) -> None:
        self._unlisted.discard(key)
        if key not in self._known or self._known[key] != listed:
            self._differing.add(key)


class Auditor:
    """Keeps the time of comparisons and the suspicions that one has raised."""

    def __init__(self, random: Random, intervals: Intervals) -> None:
        self._random = random
        self._intervals = intervals
        self._next = float("inf")
        self._suspects: set[Key] = set()
        self._verdict: float | None = None

    @property
    def due_at(self) -> float:
        """When the watch must be left, for a comparison or for a verdict."""
        return self._next if self._verdict is None else self._verdict

    def restart(self, now: float) -> None:
        """Start over, because a complete snapshot has just replaced everything."""
        self._clear()
        self._next = now + self._about(self._intervals.between)

    def postpone(self, now: float) -> None:
        self._next = now + self._about(self._intervals.retry)

    def wants_comparison(self, now: float) -> bool:
        return self._verdict is None and now >= self._next

    def suspect(self, keys: set[Key], now: float) -> None:
        """Take in what a comparison has found; the watch goes on from where it was."""
        self._suspects = keys
        self._next = now + self._about(self._intervals.between)

    def opened(self, now: float) -> None:
        """A watch that can explain the suspicions is open: from now on it must."""
        if self._suspects:
            self._verdict = now + self._intervals.grace

    def closed(self) -> None:
        """The watch that was to explain the suspicions is gone; the next one gets its time."""
        self._verdict = None

    def explained(self, key: Key) -> None:
        self._suspects.discard(key)
        if not self._suspects:
            self._verdict = None

    def lost(self, now: float) -> int:
        """Return how many objects the watch has got wrong, once that is certain."""
        if self._verdict is None or now < self._verdict:
            return 0
        found = len(self._suspects)
        self._clear()
        return found

    def _clear(self) -> None:
        self._suspects = set()
        self._verdict = None

    def _about(self, seconds: float) -> float:
        return seconds * self._random.uniform(
            1 - self._intervals.spread, 1 + self._intervals.spread
        )
