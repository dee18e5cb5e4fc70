"""A controller as a process, and what the system says that it takes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import yaml

from isthmus.model.wire import JsonObject
from isthmus.runtime.children import end
from tests.apps.test_real import free_port, page
from tests.soak.slopes import Slope, slope

ISTHMUS = Path(sys.executable).with_name("isthmus")
GRACE = 10.0  # seconds for it to end
TASKS = re.compile(r"^isthmus_tasks (\S+)$", re.MULTILINE)


class Measure(NamedTuple):
    unit: str
    allowed: float  # growth over 1,000 restarts of links


MEASURES = {
    "memory": Measure("MiB", 4.0),
    "tasks": Measure("", 1.0),
    "files": Measure("", 1.0),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a controller took when all was settled."""

    restarts: int
    memory: float
    tasks: float
    files: float

    def __str__(self) -> str:
        return (
            f"{self.restarts:6} restarts, {self.memory:.1f} MiB, {self.tasks:.0f} tasks, "
            f"{self.files:.0f} open files"
        )


@dataclass(frozen=True, slots=True)
class Process:
    process: asyncio.subprocess.Process
    admin_port: int
    log: Path

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    async def measure(self, restarts: int) -> Measured:
        own = Path(f"/proc/{self.process.pid}")
        (resident,) = re.findall(r"^VmRSS:\s+(\d+) kB$", (own / "status").read_text(), re.MULTILINE)
        (tasks,) = TASKS.findall(await page(self.admin_port, "/metrics"))
        files = len(os.listdir(own / "fd"))
        return Measured(restarts, int(resident) / 1024, float(tasks), files)


@asynccontextmanager
async def controller(kubeconfig: JsonObject, folder: Path) -> AsyncIterator[Process]:
    """Run a controller in the cluster that ``kubeconfig`` leads to."""
    config, log, port = folder / "east.yaml", folder / "controller.log", free_port()
    config.write_text(yaml.safe_dump(kubeconfig))
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "isthmus.envoy.leash", str(os.getpid()), str(ISTHMUS)),
            *("controller", "--kubeconfig", str(config), "--cluster-name", "east"),
            *("--allow-loopback", "--address", "127.0.0.1", "--admin-port", str(port)),
            *("--sign-port", "0", "--ads-port", "0", "--log-level", "warning"),
            stderr=out,
        )
    try:
        yield Process(process, port, log)
    finally:
        await end(process, GRACE)


def slopes(measured: Sequence[Measured]) -> dict[str, Slope]:
    """Return how each measure grows."""
    return {
        name: slope([(one.restarts, getattr(one, name)) for one in measured]) for name in MEASURES
    }


def table(found: Mapping[str, Slope]) -> Iterator[str]:
    """Yield lines for people."""
    yield "         after the warm-up:  first    last     min     max   per 1,000   allowed"
    for name, (unit, allowed) in MEASURES.items():
        one = found[name]
        numbers = (one.first, one.last, one.least, one.most)
        shown = "".join(f"{number:8.1f}" for number in numbers)
        label = f"{name} {unit}".strip()
        grows = f"{one.per_thousand:+8.2f} ±{1000 * one.error:.2f}"
        yield f"{label:26}{shown}   {grows:>14}{allowed:8g}"


class Verdict(Enum):
    """What a run has shown; each ends the process with a code of its own."""

    NO_LEAK = 0
    LEAK = 1
    UNDECIDED = 2


def judged(found: Mapping[str, Slope]) -> tuple[Verdict, list[str]]:
    """Return what slopes show, and the reasons.

    A measure that is too restless to show a leak of the size that is allowed proves nothing.
    """
    leaks, blind = [], []
    for name, one in found.items():
        allowed = MEASURES[name].allowed
        if one.is_leak(allowed):
            leaks.append(
                f"LEAK: {name} grow by {one.per_thousand:.1f} with every 1,000 restarts of links "
                f"(give or take {1000 * one.error:.1f}; {allowed:g} are allowed)"
            )
        elif one.is_blind(allowed):
            blind.append(
                f"undecided: {name} may grow by up to {one.unseen:.1f} with every 1,000 restarts "
                f"of links before it shows, and {allowed:g} are allowed; run for longer"
            )
    if leaks:
        return Verdict.LEAK, leaks + blind
    return (Verdict.UNDECIDED if blind else Verdict.NO_LEAK), blind
