"""Looks at how much is there, the more rarely the more is missing: who is measured pays for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

FIRST = 0.1  # seconds between looks until a pace is known
NEAR = 0.02  # seconds by which the end may be missed
LONGEST = 5.0  # seconds without a look, whatever the pace: who has stood still may hurry afterwards


@dataclass(slots=True)
class Looks:
    """``share`` tells how much of everything is there: nothing is 0, and all of it 1."""

    share: Callable[[], float]
    now: Callable[[], float] = time.monotonic
    _before: tuple[float, float] | None = None  # when somebody looked last, and what there was
    _due: float = 0.0

    @property
    def left(self) -> float:
        """How many seconds there is nothing to look for."""
        return max(NEAR, self._due - self.now())

    def is_over(self) -> bool:
        """Tell whether all is there, as far as anybody looks: next when half of the time has passed
        that the rest takes at the pace since the look before, so that the end is not missed."""
        now = self.now()
        if now < self._due:
            return False
        share = self.share()
        rest = FIRST
        if self._before is not None and 0 < self._before[1] < share:
            when, less = self._before
            rest = min(LONGEST, (1 - share) * (now - when) / (share - less) / 2)
        self._due = now + rest
        self._before = now, share
        return share >= 1
