"""Finds processes, by their numbers or by the files that they work with."""

import os
from pathlib import Path


def processes_in(folder: Path) -> list[str]:
    """The commands of all processes that name ``folder``, or something in it, or run there."""
    found: list[str] = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = one.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = os.readlink(one.with_name("cwd"))
        except OSError:
            continue  # gone, or another user's
        if line and (str(folder) in line or Path(where).is_relative_to(folder)):
            found.append(line)
    return found


def is_alive(number: int) -> bool:
    return Path(f"/proc/{number}").exists()
