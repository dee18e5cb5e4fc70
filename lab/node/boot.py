"""Starts nodes, finds those that run, and ends them: by what the kernel knows, not by notes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from isthmus.model.errors import Permanent
from lab import cgroups, wire
from lab.clusters import Cluster
from lab.node.settings import FIXED_PLACES, Places

MARK = "ISTHMUS_LAB_NODE"  # in the environment of all that a node runs beside its containers
PATIENCE = 20.0  # seconds for what was started to appear, and for what was killed to go
SOURCE = Path(__file__).parents[2]


class NodeTrouble(Permanent):
    """A node did not start or did not end. The text says which, and what is known."""


def boot(cluster: Cluster) -> None:
    """Start the node of ``cluster``; its folder holds its papers and settings already."""
    places = Places(cluster.folder)
    places.status.unlink(missing_ok=True)
    for place in FIXED_PLACES:
        place.mkdir(exist_ok=True)
    cgroups.create(cluster.cgroup)
    namespaces = ("--fork", "--kill-child", "--pid", "--mount-proc", "--mount", "--net")
    program = (sys.executable, "-m", "lab.node", cluster.name)
    # One file for all starts: what was said before a reboot is often what is looked for after it.
    with (places.logs / "node.log").open("ab") as log:
        # In a session of its own, and nobody's child: it stays when whoever started it goes.
        subprocess.run(
            ["setsid", "--fork", "unshare", *namespaces, *program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={**os.environ, MARK: cluster.name, "PYTHONPATH": f"{SOURCE}:{SOURCE / 'src'}"},
            check=True,
        )
    deadline = time.monotonic() + PATIENCE
    while (pid := first_process(cluster)) is None:
        if time.monotonic() > deadline:
            said = (places.logs / "node.log").read_text(errors="replace").splitlines()[-5:]
            raise NodeTrouble(f"{cluster.name}: the node did not start: {' / '.join(said)}")
        time.sleep(0.02)
    wire.connect(cluster, pid)


def halt(cluster: Cluster) -> None:
    """End the node at once, as a power cut would; nothing of it stays but its folder."""
    deadline = time.monotonic() + PATIENCE
    while pids := [pid for pid, _ in processes(cluster)]:
        for pid in pids:
            _kill(pid)
        if time.monotonic() > deadline:
            raise NodeTrouble(f"{cluster.name}: these processes do not end: {pids}")
        time.sleep(0.02)
    wire.disconnect(cluster)
    cgroups.remove(cluster.cgroup)


def first_process(cluster: Cluster) -> int | None:
    """The node's process 1, by the number that this machine gives it."""
    return next((pid for pid, inside in processes(cluster) if inside == 1), None)


def entering(cluster: Cluster, *namespaces: str) -> tuple[str, ...]:
    """The words before a command that let it run in the node."""
    pid = first_process(cluster)
    if pid is None:
        raise NodeTrouble(f"{cluster.name}: the node does not run; try `python -m lab up`")
    kinds = namespaces or ("--mount", "--net", "--pid")
    return ("nsenter", f"--target={pid}", *kinds)


def processes(cluster: Cluster) -> Iterator[tuple[int, int]]:
    """The node's processes but those in containers: their number here, and in the node."""
    mark = f"{MARK}={cluster.name}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            status = (folder / "status").read_text()
        except OSError:
            continue  # it went while we looked
        numbers = next(line for line in status.splitlines() if line.startswith("NSpid:"))
        _, *all_numbers = numbers.split()
        yield int(folder.name), int(all_numbers[1]) if len(all_numbers) > 1 else 0


def contained(cluster: Cluster, words: Sequence[str]) -> list[int]:
    """The processes in the cluster's pods whose command has all these words in it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            groups = (folder / "cgroup").read_text()
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it went while we looked
        if f":{cluster.cgroup}/" in groups and {word.encode() for word in words} <= set(command):
            found.append(int(folder.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
