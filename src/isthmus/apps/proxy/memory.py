"""How much memory Envoy may use: a part of what the kernel lets this pod have."""

from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
BOUNDS = ("memory.max", "memory/memory.limit_in_bytes")  # of control groups, versions 2 and 1
UNBOUNDED = 1 << 60  # version 1 says so where there is no bound, or more
USUAL = 1 << 30  # where there is none
SHARE = 0.85  # the rest is code, stacks, buffers of the kernel, and the process that keeps Envoy


def heap(groups: Path = GROUPS) -> int:
    """Return the bytes of heap above which Envoy has to turn callers away.

    It must do so before the kernel ends the pod with all its callers.
    """
    known = (bound for one in BOUNDS if (bound := _bound(groups / one)) is not None)
    return int(SHARE * next(known, USUAL))


def _bound(file: Path) -> int | None:
    try:
        said = file.read_text().strip()
    except OSError:
        return None  # the other version, or no control groups at all
    return int(said) if said.isdecimal() and int(said) < UNBOUNDED else None
