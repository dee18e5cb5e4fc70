"""What a run has found, as values that can be written down and read again."""

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
    message: int = 0  # bytes that say it


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
    message: int = 0  # bytes that say everything


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One load on one way; times in seconds."""

    path: str
    load: str
    round: int
    seconds: float
    calls: int
    carried: int  # bytes, where it is they that count
    p50: float
    p99: float
    p999: float = 0.0
    cpu: float  # of the proxies in between
    failed: int  # calls, beside those that count


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """How much proxies were told, and how fast, at several sizes."""

    machine: Machine
    date: str
    versions: dict[str, str]
    load: float  # of the machine in the minute before
    scales: tuple[Scale, ...]
    missing: dict[str, str] = {}


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What was carried on every way."""

    machine: Machine
    date: str
    versions: dict[str, str]
    load: float  # of the machine in the minute before
    readings: tuple[Reading, ...]
    missing: dict[str, str]  # what could not be measured, and why
