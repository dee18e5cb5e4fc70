"""Finds processes, by their numbers or by the files that they work with."""

import os
from pathlib import Path


def children(parent: int) -> dict[int, str]:
    """The commands of the processes that ``parent`` has started, by their numbers."""
    found: dict[int, str] = {}
    for one in Path("/proc").glob("[0-9]*"):
        try:
            after = (one / "stat").read_text().rpartition(")")[2].split()
            line = _command(one)
        except OSError:
            continue  # gone
        if int(after[1]) == parent:
            found[int(one.name)] = line
    return found


def _command(process: Path) -> str:
    return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def processes_in(folder: Path) -> list[str]:
    """The commands of all processes that name ``folder``, or something in it, or run there."""
    found: list[str] = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            line = _command(one)
            where = os.readlink(one / "cwd")
        except OSError:
            continue  # gone, or another user's
        if line and (str(folder) in line or Path(where).is_relative_to(folder)):
            found.append(line)
    return found


def is_alive(number: int) -> bool:
    return Path(f"/proc/{number}").exists()
