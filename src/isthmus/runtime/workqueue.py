"""Which key to work on next: the queue between what watchers see and what workers do."""

import asyncio
import heapq
import itertools
from collections import Counter, OrderedDict
from collections.abc import Hashable
from enum import IntEnum
from random import Random
from typing import Generic, TypeVar

from isthmus.runtime.backoff import Backoff
from isthmus.runtime.clock import GRAIN, Clock

K = TypeVar("K", bound=Hashable)

BACKOFF = Backoff(first=0.2, cap=60)
BULK_EVERY = 5  # with both lanes full, every fifth key comes from the bulk lane
SLACK = 64  # overtaken deadlines that the heap may hold on top of as many as there are keys


class Closed(Exception):
    """The queue hands out no more keys: no failure, but the way to tell a worker to go home."""


class Lane(IntEnum):
    """Single changes go first, so that one change does not wait behind a relist."""

    SINGLE = 1
    BULK = 2


class WorkQueue(Generic[K]):
    """Each key waits at most once, and at most one worker holds it.

    A key added while a worker holds it is handed out again afterwards, so no change is lost;
    ten changes in between cost one more pass, not ten. Keys of a lane go out in the order in
    which they came in, and a key that comes back goes to the end.
    """

    def __init__(
        self, clock: Clock, *, backoff: Backoff = BACKOFF, random: Random | None = None
    ) -> None:
        self._clock = clock
        self._backoff = backoff
        self._random = random or Random()
        self._lanes: dict[Lane, OrderedDict[K, None]] = {lane: OrderedDict() for lane in Lane}
        self._since: OrderedDict[K, float] = OrderedDict()  # when each waiting key was added
        self._held: set[K] = set()
        self._again: dict[K, Lane] = {}  # held, and added once more since
        self._failures: Counter[K] = Counter()
        self._due: dict[K, tuple[float, int, Lane]] = {}  # when each delayed key is added, and how
        # The same, plus entries that no longer count.
        self._heap: list[tuple[float, int, Lane, K]] = []
        self._entry = itertools.count()  # tells deadlines of a key apart
        self._timer: asyncio.TimerHandle | None = None
        self._singles = 0  # handed out since the last one of the bulk lane
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def depth(self) -> int:
        """How many keys wait to be worked on; delayed ones do not count."""
        return len(self._since)

    @property
    def delayed(self) -> int:
        return len(self._due)

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def oldest_age(self) -> float:
        """How long the oldest waiting key has waited, in seconds."""
        now = self._clock.now()
        return now - next(iter(self._since.values()), now)

    def add(self, key: K, lane: Lane = Lane.SINGLE) -> None:
        """Have ``key`` worked on as soon as its turn comes; a delay it was under ends here."""
        if self._closed:
            return
        self._due.pop(key, None)
        self._since.setdefault(key, self._clock.now())
        if key in self._held:
            self._again[key] = min(lane, self._again.get(key, lane))
        else:
            self._wait(key, lane)

    def add_after(self, key: K, delay: float, lane: Lane = Lane.BULK) -> None:
        """Add ``key`` after ``delay`` seconds, unless it comes sooner for another reason.

        As a rule it has waited already, and a storm of retries must not hold up fresh changes.
        """
        if self._closed or key in self._since:
            return
        due = self._clock.now() + delay
        if key in self._due and self._due[key][0] <= due:
            return
        entry = next(self._entry)
        self._due[key] = (due, entry, lane)
        heapq.heappush(self._heap, (due, entry, lane, key))
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._heap = [(*deadline, key) for key, deadline in self._due.items()]
            heapq.heapify(self._heap)
        if self._heap[0][3] == key:
            self._arm()

    async def take(self) -> K:
        """Wait for a key; whoever takes it must call done, retry or hand_back."""
        while not self._closed:
            lane = self._next_lane()
            if lane is not None:
                return self._hand_out(lane)
            self._changed.clear()
            await self._changed.wait()
        raise Closed

    def done(self, key: K) -> None:
        """Give ``key`` back: the work succeeded, or only a change can help."""
        self._failures.pop(key, None)
        self._give_back(key)

    def retry(self, key: K) -> None:
        """Give ``key`` back and add it again after a wait that grows with each failure."""
        self._failures[key] += 1
        self.add_after(key, self._backoff.wait(self._failures[key], self._random))
        self._give_back(key)

    def hand_back(self, key: K) -> None:
        """Give ``key`` back unfinished, through no fault of its own."""
        self.add(key)
        self._give_back(key)

    def close(self) -> None:
        """Hand out nothing more; keys that are held can still be given back."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._changed.set()

    def _wait(self, key: K, lane: Lane) -> None:
        if key in self._lanes[Lane.SINGLE]:
            return
        if lane is Lane.SINGLE:
            self._lanes[Lane.BULK].pop(key, None)
        self._lanes[lane].setdefault(key)
        self._changed.set()

    def _next_lane(self) -> Lane | None:
        single, bulk = self._lanes[Lane.SINGLE], self._lanes[Lane.BULK]
        if single and not (bulk and self._singles >= BULK_EVERY - 1):
            return Lane.SINGLE
        return Lane.BULK if bulk else None

    def _hand_out(self, lane: Lane) -> K:
        key, _ = self._lanes[lane].popitem(last=False)
        self._singles = self._singles + 1 if lane is Lane.SINGLE else 0
        del self._since[key]
        self._held.add(key)
        return key

    def _give_back(self, key: K) -> None:
        self._held.remove(key)
        lane = self._again.pop(key, None)
        if lane is not None:
            self._wait(key, lane)

    def _arm(self) -> None:
        """Set the one timer to the earliest deadline that still counts."""
        while self._heap and not self._counts(self._heap[0]):
            heapq.heappop(self._heap)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            delay = max(0.0, self._heap[0][0] - self._clock.now())
            self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        now = self._clock.now() + GRAIN
        while self._heap and self._heap[0][0] <= now:
            rung = heapq.heappop(self._heap)
            if self._counts(rung):
                self.add(rung[3], rung[2])
        self._arm()

    def _counts(self, deadline: tuple[float, int, Lane, K]) -> bool:
        *when, key = deadline
        return self._due.get(key) == tuple(when)
