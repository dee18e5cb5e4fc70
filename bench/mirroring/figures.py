"""What a run has found, as values that can be written down and read again."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from bench.results import Machine


class Sync(msgspec.Struct, frozen=True, kw_only=True):
    """One way from nothing to everything written; times in seconds, memory in MB."""

    wall: float
    leading: float = 0.0  # so much of it was over when the first object could be written
    cpu: float
    server_cpu: float  # of the API server that was written to
    peak: float = 0.0
    kept: float = 0.0

    @property
    def writing(self) -> float:
        return self.wall - self.leading


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """The controller and the floor, one after the other, each on a cluster of its own."""

    ours: Sync
    floor: Sync
    load: float  # of the machine in the minute before

    @property
    def cold_ratio(self) -> float:
        """How much of the floor's rate is reached, counted from the start of each process."""
        return self.floor.wall / self.ours.wall

    @property
    def writing_ratio(self) -> float:
        """The same, counted from the moment at which each of them could write."""
        return self.floor.writing / self.ours.writing


class Size(msgspec.Struct, frozen=True, kw_only=True):
    services: int
    rounds: tuple[Round, ...]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the request that changes a Service to the sight of its changed mirror."""

    ours: tuple[float, ...]
    floor: tuple[float, ...]


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """A new process where all mirrors are in place, and then a time of rest."""

    ready: float  # seconds from its start
    settled: float  # seconds until it led, saw the target and had nothing left to plan
    writes: Mapping[str, int]  # which the API server has counted, leases apart
    idle: float  # seconds of rest
    idle_requests: Mapping[str, int]  # in that time, without those that come from elsewhere
    idle_cpu: float


class Mirroring(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run has found."""

    machine: Machine
    date: str
    empty: float  # MB that a controller keeps where nothing is exported
    sizes: tuple[Size, ...]
    idle: Changes
    busy: Changes  # while the largest size is mirrored for the first time
    restart: Restart


def write(found: Mirroring, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def read(path: Path) -> Mirroring:
    return msgspec.json.decode(path.read_bytes(), type=Mirroring)
