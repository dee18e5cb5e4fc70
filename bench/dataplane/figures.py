"""What a run has found, as values that can be written down and read again."""

from pathlib import Path

import msgspec

from bench.results import Machine


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of time, and of the processor: ours, and Envoy's."""

    wall: float
    ours: float
    envoy: float = 0.0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change among many ports, from its making to its acknowledgement."""

    what: str
    wall: float
    sent: int  # resources, and removals
    own: int  # so many the changed part has, or had


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """One proxy that is told of many ports; memory in MB."""

    role: str
    ports: int
    build: Cost
    deliver: Cost
    ours_before: float
    envoy_before: float
    ours: float
    envoy: float
    changes: tuple[Change, ...]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One load on one path; times in seconds."""

    path: str
    load: str
    round: int
    seconds: float
    calls: int
    carried: int  # bytes, where it is they that count
    p50: float
    p99: float
    cpu: float  # of the two proxies


class Dataplane(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run has found."""

    machine: Machine
    date: str
    versions: dict[str, str]
    load: float  # of the machine in the minute before
    scales: tuple[Scale, ...]
    readings: tuple[Reading, ...]
    missing: dict[str, str]  # what could not be measured, and why


def write(found: Dataplane, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def read(path: Path) -> Dataplane:
    return msgspec.json.decode(path.read_bytes(), type=Dataplane)
