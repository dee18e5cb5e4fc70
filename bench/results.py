"""What a run has found, as values that can be written down and read again."""

import os
import platform

import msgspec

from bench.meter import Import, Listing, Watching


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of machine, not which one."""

    cores: int
    memory_gb: int
    python: str
    kubernetes: str = ""
    etcd: str = ""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run has found; each name has one value for each time it was measured."""

    machine: Machine
    date: str
    objects: int  # Services, and as many EndpointSlices
    events: int
    versions: dict[str, str]  # of the peers
    listings: dict[str, list[Listing]]
    watches: dict[str, list[Watching]]
    imports: dict[str, list[Import]]
    missing: dict[str, str]  # what could not be measured, and why


def machine(kubernetes: str = "", etcd: str = "") -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cores=os.cpu_count() or 0,
        memory_gb=round(pages / 1e9),
        python=platform.python_version(),
        kubernetes=kubernetes,
        etcd=etcd,
    )
