"""A controller as a process, and what the system says that it takes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from isthmus.model.wire import JsonObject
from tests.apps.test_real import free_port, page
from tests.soak.slopes import Slope, slope

ISTHMUS = Path(sys.executable).with_name("isthmus")
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
            str(ISTHMUS),
            *("controller", "--kubeconfig", str(config), "--cluster-name", "east"),
            *("--allow-loopback", "--address", "127.0.0.1", "--admin-port", str(port)),
            *("--sign-port", "0", "--ads-port", "0", "--log-level", "warning"),
            stderr=out,
        )
    try:
        yield Process(process, port, log)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def table(measured: Sequence[Measured]) -> tuple[list[str], list[tuple[str, Slope]]]:
    """Return lines for people, and what leaks."""
    lines = ["         after the warm-up:  first    last     min     max   per 1,000   allowed"]
    leaks: list[tuple[str, Slope]] = []
    for name, (unit, allowed) in MEASURES.items():
        found = slope([(one.restarts, getattr(one, name)) for one in measured])
        numbers = (found.first, found.last, found.least, found.most)
        shown = "".join(f"{one:8.1f}" for one in numbers)
        label = f"{name} {unit}".strip()
        grows = f"{found.per_thousand:+8.2f} ±{1000 * found.error:.2f}"
        lines.append(f"{label:26}{shown}   {grows:>14}{allowed:8g}")
        if found.is_leak(allowed):
            leaks.append((name, found))
    return lines, leaks
