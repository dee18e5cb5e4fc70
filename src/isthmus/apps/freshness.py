"""When a leaf is to be replaced, whatever happens to the wall clock meanwhile."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from isthmus.apps.credentials import Credentials
from isthmus.pki.issue import LIFETIME
from isthmus.pki.renewal import renew_at
from isthmus.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class Due:
    """A moment on both clocks: one may jump, the other stands still while a machine sleeps."""

    wall: datetime
    monotonic: float

    def has_come(self, clock: Clock) -> bool:
        return clock.now() >= self.monotonic or clock.utc() >= self.wall


def due(made: Credentials, clock: Clock, random: Random) -> Due:
    """Choose when to replace ``made``: around two thirds of its life, not in step with others."""
    made_at = clock.utc()  # a leaf's own beginning lies long before
    # By a clock that is behind it would seem to last longer than any does.
    ends = min(made.not_after, made_at + LIFETIME)
    when = renew_at(made_at, ends, random.random())
    left = (when - made_at) / timedelta(seconds=1)
    return Due(when, clock.now() + left)


def now(clock: Clock) -> Due:
    """Replace at once."""
    return Due(clock.utc(), clock.now())
