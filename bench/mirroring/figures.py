"""What a run has found, as values that can be written down and read again."""

from collections.abc import Mapping

import msgspec

from bench.results import Machine

DISTURBED = 0.05  # of the processors' time that the host took from one side: measure again


class Sync(msgspec.Struct, frozen=True, kw_only=True):
    """One way from nothing to everything written; times in seconds, memory in MB."""

    wall: float
    leading: float = 0.0  # so much of it was over when the first object could be written
    cpu: float
    server_cpu: float = 0.0  # of the API server that was written to
    peak: float = 0.0
    kept: float = 0.0
    stolen: float = 0.0  # share of all processors that the machine's host gave to others
    yard: float = 0.0  # CPU s of the etcd behind that server: the same work, whoever writes

    @property
    def even(self) -> float:
        """How long it took on a machine that is always as fast: without what the host gave to
        others, and in units of what the same work of etcd has cost meanwhile."""
        return self.wall * (1 - self.stolen) / self.yard

    @property
    def writing(self) -> float:
        return self.wall - self.leading


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """The controller, the floor and other mirrors, one by one, each on a cluster of its own."""

    ours: Sync
    floor: Sync
    load: float  # of the machine in the minute before
    peers: Mapping[str, Sync] = {}

    @property
    def stolen(self) -> float:
        """The share of the processors that one of them had to do without."""
        return max(one.stolen for one in (self.ours, self.floor, *self.peers.values()))

    @property
    def is_calm(self) -> bool:
        """Whether the machine's host disturbed none of them."""
        return self.stolen <= DISTURBED

    @property
    def cold_ratio(self) -> float:
        """How much of the floor's rate is reached, counted from the start of each process."""
        return self.floor.wall / self.ours.wall

    @property
    def even_ratio(self) -> float | None:
        """The same, had the machine been as fast for both; None where nobody has looked."""
        is_known = self.ours.yard and self.floor.yard
        return self.floor.even / self.ours.even if is_known else None

    @property
    def writing_ratio(self) -> float:
        """The same, counted from the moment at which each of them could write."""
        return self.floor.writing / self.ours.writing


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """So many of what is counted, which make so many mirrors.

    What its figures are compared with stays with it, for other sizes may be of another day.
    """

    count: int
    mirrors: int
    date: str
    machine: Machine
    empty: Sync  # of a controller that found nothing to mirror, in the same run
    rounds: tuple[Round, ...]
    wanted: int = 0  # so many of the rounds count; 0 if all do
    missing: Mapping[str, str] = {}  # what could not be measured, and why

    @property
    def counted(self) -> tuple[Round, ...]:
        """The rounds that the machine's host disturbed least, whatever they have shown."""
        by_theft = sorted(self.rounds, key=lambda one: one.stolen)
        return tuple(by_theft[: self.wanted or None])

    @property
    def even_ratios(self) -> tuple[float, ...]:
        """Of all rounds, none of which is worse than another; empty if not all are known."""
        found = tuple(one.even_ratio for one in self.rounds)
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else ()

    @property
    def calm(self) -> tuple[Round, ...]:
        """The rounds that the machine's host did not disturb."""
        return tuple(one for one in self.rounds if one.is_calm)


class Growing(msgspec.Struct, frozen=True, kw_only=True):
    """Cold starts at several sizes, which may have been measured on several days."""

    sizes: tuple[Size, ...]


def merged(before: Growing | None, now: Growing) -> Growing:
    """Return both; a size that was measured again is what it is now."""
    known = {} if before is None else {one.count: one for one in before.sizes}
    known |= {one.count: one for one in now.sizes}
    return Growing(sizes=tuple(known[count] for count in sorted(known)))


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the request that changes a Service to the sight of its changed mirror."""

    when: str
    ours: tuple[float, ...]
    floor: tuple[float, ...]
    peers: Mapping[str, tuple[float, ...]] = {}


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Single changes, at rest and when there is other work."""

    machine: Machine
    date: str
    load: float
    mirrors: int
    storm: float  # other changes a second in the storm, as many as were really made
    stretches: tuple[Changes, ...]
    missing: Mapping[str, str] = {}


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What it costs a bare client to read all of both clusters, and to hold it."""

    wall: float
    cpu: float
    kept: float


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """A new process where all mirrors are in place, and then a time of rest."""

    mirrors: int
    date: str
    machine: Machine
    load: float
    ready: float  # seconds from its start
    settled: float  # seconds until it led, saw the target and had nothing left to plan
    cpu: float  # seconds of the processor until then
    kept: float  # MB
    writes: Mapping[str, int]  # which the API server has counted, leases apart
    idle: float  # seconds of rest
    idle_requests: Mapping[str, int]  # in that time, without those that come from elsewhere
    idle_cpu: float
    floor: Read | None = None


class Restarts(msgspec.Struct, frozen=True, kw_only=True):
    each: tuple[Restart, ...]


def merged_restarts(before: Restarts | None, now: Restarts) -> Restarts:
    """Return both; a size that was measured again is what it is now."""
    known = {} if before is None else {one.mirrors: one for one in before.each}
    known |= {one.mirrors: one for one in now.each}
    return Restarts(each=tuple(known[count] for count in sorted(known)))
