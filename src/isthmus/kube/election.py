"""Leading: hold a Lease while working, and stop before anybody else can hold it.

A leader counts from the moment *before* it sent the renewal that succeeded, which is never later
than the moment from which the others count. Without a new renewal it stops at the renew deadline,
and its work must have ended before the lease can expire. Leadership is still only advice: writers
ask ``still_leading`` right before they write, and every write is conditional.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from math import inf
from random import Random
from typing import Protocol, assert_never
from uuid import uuid4

from isthmus.kube.client import Client
from isthmus.kube.errors import AlreadyExists, Conflict, NotFound
from isthmus.kube.lease import (
    Acquire,
    Candidate,
    Moment,
    Observed,
    Renew,
    Wait,
    decide,
    observe,
    released,
)
from isthmus.kube.resources import LEASES
from isthmus.model.errors import IsthmusError, Permanent, Transient
from isthmus.model.objects import Key, Lease
from isthmus.runtime.clock import GRAIN, Clock

log = logging.getLogger(__name__)

JITTER = 1.2  # client-go's: a follower waits up to this much of ``retry`` on top of it


class Overrun(IsthmusError):
    """The work went on when others may have started: this process must not go on."""


def identity(name: str = "") -> str:
    """Return a name that no other process has or had, and that tells an operator where it runs:
    in the pod of that ``name``, or else on this machine."""
    return f"{name or socket.gethostname()}_{uuid4()}"


class Leases(Protocol):
    """One Lease object in an API server."""

    async def read(self) -> Lease | None: ...

    async def create(self, lease: Lease) -> Lease: ...

    async def replace(self, lease: Lease) -> Lease:
        """Write ``lease`` if its version is still the current one, else raise ``Conflict``."""
        ...


class StoredLease:
    """The Lease of that key, through a client."""

    def __init__(self, client: Client, key: Key) -> None:
        self._client = client
        self._key = key

    async def read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._key)
        except NotFound:
            return None

    async def create(self, lease: Lease) -> Lease:
        return await self._client.create(LEASES, lease)

    async def replace(self, lease: Lease) -> Lease:
        return await self._client.replace(LEASES, lease)


class _Outcome(Enum):
    HELD = "held"
    TAKEN = "taken"  # by somebody else
    UNKNOWN = "unknown"  # no answer, or none that says


class Election:
    """One candidate. ``overrun`` is called when only the end of the process can help."""

    def __init__(
        self,
        leases: Leases,
        me: Candidate,
        clock: Clock,
        random: Random,
        overrun: Callable[[], None],
    ) -> None:
        self._leases = leases
        self._me = me
        self._clock = clock
        self._random = random
        self._overrun = overrun
        self._observed: Observed | None = None
        self._current = False  # whether the lease was ours, as observed, after the last try
        self._confirmed: Moment | None = None  # just before the last successful write was sent
        self._guard: asyncio.TimerHandle | None = None
        self._overran = False

    @property
    def holder(self) -> str:
        """Who held the lease when we last looked; empty if nobody did."""
        lease = self._observed and self._observed.lease
        return (lease and lease.spec.holder_identity) or ""

    def still_leading(self) -> bool:
        """Tell whether a write may be sent now; costs nothing, and sees a pause of the process.

        The wall clock is asked as well, since on a machine that was suspended the monotonic
        one stood still. If it jumped for another reason, the next renewal sets that right.
        """
        if self._confirmed is None:
            return False
        limit = self._me.timing.renew
        moment = self._moment()
        passed = moment.now - self._confirmed.now
        return passed < limit and (moment.utc - self._confirmed.utc).total_seconds() < limit

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait to be elected, then run ``work``; return when it or the leadership has ended.

        The work is cancelled when the leadership ends. Call again to stand again.
        """
        await self._stand()
        log.info("leading", extra={"lease": str(self._me.key), "identity": self._me.identity})
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(_run(work))
                await self._hold(working)
                working.cancel()
        finally:
            self._confirmed = None
            self._disarm()
            # Only now, with the work joined, may somebody else start.
            await self._release()
            log.info("not leading any more", extra={"lease": str(self._me.key)})
        if self._overran:
            raise Overrun(f"lease {self._me.key}: the work had not ended when the lease did")

    async def _stand(self) -> None:
        timing = self._me.timing
        while True:
            outcome = await self._try(timing.attempt)
            # A write that took as long as the lease lasts has won nothing.
            if outcome is _Outcome.HELD and self.still_leading():
                self._arm()
                return
            pause = timing.retry * (1 + JITTER * self._random.random())
            await self._clock.sleep(min(pause, self._until_free()))

    async def _hold(self, working: asyncio.Task[None]) -> None:
        """Renew until the work is done or the leadership must end."""
        timing = self._me.timing
        while True:
            await asyncio.wait({working}, timeout=min(timing.retry, self._left()))
            if working.done():
                return
            if self._left() < GRAIN:
                log.warning("could not renew in time", extra={"lease": str(self._me.key)})
                return
            outcome = await self._try(min(timing.attempt, self._left()))
            if outcome is _Outcome.HELD:
                self._arm()
            elif outcome is _Outcome.TAKEN:
                self._confirmed = None
                extra = {"lease": str(self._me.key), "holder": self.holder}
                log.warning("somebody else leads", extra=extra)
                return

    async def _try(self, limit: float) -> _Outcome:
        """Try once to get or keep the lease."""
        try:
            async with asyncio.timeout(limit):
                return await self._exchange()
        except TimeoutError:
            self._log_failure(logging.INFO, f"no answer within {limit:.1f} s")
        except Transient as failure:
            self._log_failure(logging.INFO, str(failure))
        except Permanent as failure:
            self._log_failure(logging.WARNING, str(failure))
        # A write without an answer may have been done: look before the next one.
        self._current = False
        return _Outcome.UNKNOWN

    async def _exchange(self) -> _Outcome:
        for _ in range(2):
            if self._observed is None or not self._current:
                self._see(await self._leases.read())
            moment = self._moment()
            match decide(self._seen(), self._me, moment):
                case Wait():
                    return _Outcome.TAKEN
                case Acquire(lease) | Renew(lease):
                    written = await self._write(lease)
                case other:
                    assert_never(other)
            if written is not None:
                self._see(written)
                self._current = True
                self._confirmed = moment
                return _Outcome.HELD
            self._current = False
        return _Outcome.UNKNOWN

    async def _write(self, lease: Lease) -> Lease | None:
        """Write ``lease`` if nobody has written since; return None if somebody has."""
        try:
            if not lease.metadata.resource_version:
                # Not found means that its namespace is missing, which somebody has to hear.
                return await self._leases.create(lease)
            with suppress(NotFound):
                return await self._leases.replace(lease)
        except (Conflict, AlreadyExists):
            pass
        return None

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(self._me.timing.attempt):
                lease = await self._leases.read()
                if lease is not None and lease.spec.holder_identity == self._me.identity:
                    self._see(await self._leases.replace(released(lease, self._clock.utc())))
        except (TimeoutError, Transient, Permanent) as failure:
            # It expires by itself.
            extra = {"lease": str(self._me.key), "error": str(failure)}
            log.info("lease not released", extra=extra)
        finally:
            self._current = False

    def _log_failure(self, level: int, error: str) -> None:
        log.log(level, "lease: will retry", extra={"lease": str(self._me.key), "error": error})

    def _see(self, lease: Lease | None) -> None:
        self._observed = observe(self._observed, lease, self._clock.now())

    def _seen(self) -> Observed:
        return self._observed or Observed(None, self._clock.now())

    def _until_free(self) -> float:
        """Return how long to wait for the lease to expire, a little spread."""
        decision = decide(self._seen(), self._me, self._moment())
        if not isinstance(decision, Wait):
            return self._me.timing.retry * (1 + self._random.random())
        return decision.seconds + self._random.uniform(0, self._me.timing.retry / 4)

    def _left(self) -> float:
        """Return how long until the renew deadline; it is over as long as nothing is held."""
        confirmed = -inf if self._confirmed is None else self._confirmed.now
        return max(0.0, confirmed + self._me.timing.renew - self._clock.now())

    def _arm(self) -> None:
        """Set the timer that ends the process if the work has not ended before the lease."""
        self._disarm()
        confirmed = self._confirmed or self._moment()
        end = confirmed.now + self._me.timing.duration - self._me.timing.margin
        delay = max(0.0, end - self._clock.now())
        self._guard = asyncio.get_running_loop().call_later(delay, self._overstay)

    def _disarm(self) -> None:
        if self._guard is not None:
            self._guard.cancel()
            self._guard = None

    def _overstay(self) -> None:
        self._overran = True
        log.critical(
            "work outlives the lease; this process ends", extra={"lease": str(self._me.key)}
        )
        self._overrun()

    def _moment(self) -> Moment:
        return Moment(self._clock.now(), self._clock.utc())


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()
