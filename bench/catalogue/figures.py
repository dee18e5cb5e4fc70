"""What a run has found, as values that can be written down and read again."""

import msgspec

from bench.results import Machine


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What offering has cost so far: seconds of the processor, MB."""

    cpu: float
    kept: float
    envoy_cpu: float
    envoy_kept: float


class Follower(msgspec.Struct, frozen=True, kw_only=True):
    """What following has cost so far."""

    wall: float
    cpu: float
    kept: float


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """One catalogue of so many exports, followed once; times in seconds, memory in MB."""

    exports: int
    digest: float  # seconds until all were digested and encoded
    empty: Server
    filled: Server  # after all bare reads, before anybody follows
    snapshot: Follower  # from dialing until all is known
    snapshot_bytes: int
    served: Server  # after that
    bare: float  # seconds for the same bytes to be read and thrown away
    base: float  # MB of a follower before it dials
    single: tuple[float, ...]  # seconds from one change to its being known
    single_bytes: float  # of one change
    burst: int  # changes at once
    burst_wall: float  # seconds from the making of the first until the last is known


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run has found."""

    machine: Machine
    date: str
    versions: dict[str, str]
    load: float
    followed: tuple[Followed, ...]
    missing: dict[str, str] = {}
