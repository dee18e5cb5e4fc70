"""Looks at how much is there, the more rarely the more is missing: who is measured pays for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.trial import Failed

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

    def wait(self, within: float, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait for all of it, and do something at each look that is left; not for ever."""
        deadline = self.now() + within
        while not self.is_over():
            meanwhile()
            if self.now() > deadline:
                raise Failed(f"not everything is mirrored after {within:.0f} s")
            time.sleep(self.left)

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
