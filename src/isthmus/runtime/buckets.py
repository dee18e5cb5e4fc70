"""How often each of many may do something: a token bucket for everybody, of one number each."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many at once, after a pause; and so many per second for ever."""

    burst: int
    per_second: float


class Buckets(Generic[K]):
    """Buckets by key. Whoever was not seen for long is forgotten first, and begins anew.

    Kept is the moment at which a bucket is full again (GCRA): a bucket whose moment has passed is
    as good as none, so that only keys in use take memory, and at most ``most`` of them.
    """

    def __init__(self, rate: Rate, most: int = 10_000) -> None:
        self._each = 1 / rate.per_second
        self._room = rate.burst / rate.per_second
        self._most = most
        self._full_at: OrderedDict[K, float] = OrderedDict()

    def take(self, key: K, now: float) -> float:
        """Take one and return 0; or take nothing and return the seconds until there is one."""
        full_at = max(now, self._full_at.get(key, now)) + self._each
        wait = full_at - now - self._room
        if wait > 0:
            return wait
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        while len(self._full_at) > self._most or next(iter(self._full_at.values())) <= now:
            self._full_at.popitem(last=False)
        return 0.0

    def __len__(self) -> int:
        return len(self._full_at)
