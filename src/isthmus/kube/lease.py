"""Who may lead: the rules of a coordination.k8s.io Lease, without clocks and requests.

They are client-go's. A candidate never compares another machine's clock with its own: it notes,
on its own monotonic clock, when it first saw the lease as it is now, and waits from there.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from isthmus.model.objects import Key, Lease, LeaseSpec, Metadata
from isthmus.model.times import micro_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. The gap between ``renew`` and ``duration`` is what the work has to end in."""

    duration: float = 15.0  # others wait this long after they saw the last renewal
    renew: float = 10.0  # without a renewal for this long, the leader stops
    retry: float = 2.0  # between two tries to renew, or to acquire
    attempt: float = 4.0  # for one try, so that a request that hangs leaves time for another
    margin: float = 1.0  # the work must have ended this long before others may start


@dataclass(frozen=True, slots=True)
class Observed:
    """The lease as we know it (None: there is none), and when we first saw it like this."""

    lease: Lease | None
    at: float


@dataclass(frozen=True, slots=True)
class Acquire:
    """Write this: nobody holds the lease, or its holder has let it expire."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Renew:
    """Write this: the lease is ours."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else holds the lease, for so many more seconds unless it is renewed."""

    holder: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on both clocks: ours to measure with, the wall's to write down."""

    now: float
    utc: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Who stands, for which lease, and in which rhythm."""

    key: Key
    identity: str
    timing: Timing = Timing()


def observe(known: Observed | None, lease: Lease | None, now: float) -> Observed:
    """Note what was read; the time counts from the first sight of this very version."""
    if known is not None and _version(known.lease) == _version(lease):
        return known
    return Observed(lease, now)


def decide(observed: Observed, me: Candidate, moment: Moment) -> Acquire | Renew | Wait:
    """Say what to do about the lease; what is written keeps the version that it builds on."""
    lease = observed.lease
    time = micro_time(moment.utc)
    mine = LeaseSpec(
        holder_identity=me.identity,
        lease_duration_seconds=round(me.timing.duration),
        acquire_time=time,
        renew_time=time,
        lease_transitions=0,
    )
    if lease is None:
        metadata = Metadata(namespace=me.key.namespace, name=me.key.name)
        return Acquire(Lease(metadata=metadata, spec=mine))
    old = lease.spec
    transitions = old.lease_transitions or 0
    if old.holder_identity == me.identity:
        kept = msgspec.structs.replace(
            mine, acquire_time=old.acquire_time, lease_transitions=transitions
        )
        return Renew(Lease(metadata=lease.metadata, spec=kept))
    left = observed.at + (old.lease_duration_seconds or me.timing.duration) - moment.now
    if old.holder_identity and left > 0:
        return Wait(old.holder_identity, left)
    taken = msgspec.structs.replace(mine, lease_transitions=transitions + 1)
    return Acquire(Lease(metadata=lease.metadata, spec=taken))


def released(lease: Lease, utc: datetime) -> Lease:
    """Return ``lease`` as its holder leaves it, for anybody to take at once."""
    time = micro_time(utc)
    spec = LeaseSpec(
        holder_identity="",
        lease_duration_seconds=1,  # zero is not valid
        acquire_time=time,
        renew_time=time,
        lease_transitions=lease.spec.lease_transitions,
    )
    return Lease(metadata=lease.metadata, spec=spec)


def _version(lease: Lease | None) -> tuple[str, str] | None:
    return None if lease is None else (lease.metadata.uid, lease.metadata.resource_version)
