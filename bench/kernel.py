"""The kernel's own account of another process."""

import os
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far."""
    user, system = _fields(pid)[11:13]
    return (int(user) + int(system)) / TICK


def has_ended(pid: int) -> bool:
    """Tell whether a child of ours is only waited for any more."""
    return _fields(pid)[0] == "Z"


def _fields(pid: int) -> list[str]:
    """Return what proc(5) counts from the third field on; the second may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
