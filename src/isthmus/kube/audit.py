"""Finds out whether a watch has told the truth, by comparing versions with the server's list.

A difference alone proves nothing: the list may know of changes that the watch is about to
deliver. Only what the watch does not explain within a grace period was really lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from isthmus.kube.codec import Mark, Page
from isthmus.model.objects import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Seconds, but for ``spread``."""

    between: float = 600.0  # two comparisons, …
    spread: float = 0.2  # … give or take this share, so that clients do not march in step
    grace: float = 10.0  # for the watch to explain a difference
    retry: float = 60.0  # after a comparison that failed


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
        return not self._suspects and now >= self._next

    def compare(self, known: Mapping[Key, str], page: Page[Mark], now: float) -> None:
        """Suspect every object whose version differs; the watch goes on from where it was."""
        listed = {mark.metadata.key: mark.metadata.resource_version for mark in page.objects}
        self._suspects = {
            key for key in listed.keys() | known.keys() if listed.get(key) != known.get(key)
        }
        self._next = now + self._about(self._intervals.between)

    def opened(self, now: float) -> None:
        """A watch that can explain the suspicions is open: from now on it must."""
        if self._suspects:
            self._verdict = now + self._intervals.grace

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
