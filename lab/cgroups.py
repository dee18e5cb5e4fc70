"""The control groups that the lab's pods live in: made before, removed after."""

import contextlib
import time
from pathlib import Path

from lab.packages import NotPossibleHere

TOP = "isthmus-lab"
INHERITED = ("cpuset.cpus", "cpuset.mems")  # empty in a new group of version 1: nothing could run
NEEDED = ("cpu", "cpuset", "memory", "pids")
PATIENCE = 10.0  # seconds for killed processes to leave their groups


def hierarchies(mounts: str) -> list[tuple[Path, str]]:
    """Where the machine has control groups mounted, and of which kind, as /proc/mounts says."""
    fields = [line.split() for line in mounts.splitlines()]
    found = {(Path(field[1]), field[2]) for field in fields if field[2] in ("cgroup", "cgroup2")}
    return sorted(found)


def create(group: str) -> None:
    """Make ``group``, a path such as /isthmus-lab/east, in every hierarchy."""
    trees = hierarchies(_mounts())
    if not trees:
        raise NotPossibleHere("no control groups are mounted at /sys/fs/cgroup")
    # Beside version 1, a tree of version 2 without controllers is often mounted.
    first = any(kind == "cgroup" for _, kind in trees)
    for root, kind in trees:
        if first and kind == "cgroup2":
            continue
        folder = root
        for part in Path(group).relative_to("/").parts:
            if kind == "cgroup2":
                enabled = " ".join(f"+{name}" for name in NEEDED)
                (folder / "cgroup.subtree_control").write_text(enabled)
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            for name in INHERITED:
                if kind == "cgroup" and (folder / name).exists():
                    (folder / name).write_text((parent / name).read_text())


def left() -> list[Path]:
    """The lab's groups that exist now, the innermost first."""
    tops = [root / TOP for root, _ in hierarchies(_mounts())]
    found = [path for top in tops for path in top.glob("**") if path.is_dir()]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def remove(group: str | None = None) -> None:
    """Remove ``group``, or all of the lab's, once the processes in it have died."""
    deadline = time.monotonic() + PATIENCE
    while True:
        inside = [path for path in left() if group is None or f"{group}/" in f"{path}/"]
        for path in inside:
            with contextlib.suppress(OSError):  # busy: a dying process is still in it
                path.rmdir()
        if not any(path.exists() for path in inside):
            return
        if time.monotonic() > deadline:
            raise NotPossibleHere(f"{inside[0]}: processes in this control group do not end")
        time.sleep(0.05)


def _mounts() -> str:
    return Path("/proc/mounts").read_text()
