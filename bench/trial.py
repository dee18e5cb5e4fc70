"""Runs each measurement in a fresh process, and all of them in turn.

Taking turns matters more than repeating: a machine that is busy for a minute then slows
everyone down a little, instead of one contender a lot.
"""

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec

from bench import peers
from bench.lineup import Contender
from bench.meter import Import, Listing, Watching
from bench.progress import Progress
from bench.target import Target
from isthmus.model.errors import Permanent

T = TypeVar("T")
R = TypeVar("R", Listing, Watching)

PATIENCE = 300.0  # seconds for one measurement
HELP = "isthmus --help"
IMPORTING = """
import sys, time
before = time.perf_counter()
__import__(sys.argv[1])
wall = time.perf_counter() - before
status = open("/proc/self/status").read()
print(wall, int(status.split("VmRSS:")[1].split()[0]) / 1000)
"""


class Failed(Permanent):
    """A measurement ended without a figure; the text says why."""


def in_turn(contenders: Sequence[T], rounds: int) -> Iterator[T]:
    """Everyone once per round, in another order each time: nobody always follows the same one."""
    for number in range(rounds):
        yield from Random(number).sample(contenders, len(contenders))


def measure(
    shape: type[R], contenders: Sequence[Contender], target: Target, rounds: int
) -> tuple[dict[str, list[R]], dict[str, str]]:
    """Let everyone list or watch; return the figures, and for those without any the reason."""
    job = "list" if shape is Listing else "watch"
    found: dict[str, list[R]] = {contender.name: [] for contender in contenders}
    missing: dict[str, str] = {}
    progress = Progress(f"{job} measurements", len(contenders) * rounds)
    for contender in in_turn(contenders, rounds):
        if contender.name not in missing:
            try:
                found[contender.name].append(_consumed(contender, job, target, shape))
            except Failed as error:
                missing[contender.name] = str(error)
        progress.step(contender.name)
    return {name: each for name, each in found.items() if name not in missing}, missing


def measure_imports(
    modules: Sequence[tuple[str, Path]], rounds: int
) -> tuple[dict[str, list[Import]], dict[str, str]]:
    """Import each module in a fresh interpreter, and ask our own command for its help."""
    found: dict[str, list[Import]] = {name: [] for name, _ in (*modules, (HELP, None))}
    missing: dict[str, str] = {}
    starts = [(name, [str(python), "-c", IMPORTING, name]) for name, python in modules]
    starts.append((HELP, [str(Path(sys.executable).with_name("isthmus")), "--help"]))
    progress = Progress("import measurements", len(starts) * rounds)
    for name, command in in_turn(starts, rounds):
        before = time.perf_counter()
        try:
            said = run(command)
        except Failed as error:
            missing[name] = str(error)
        else:
            whole = Import(wall=time.perf_counter() - before, resident=0.0)
            wall, _, resident = said.partition(" ")
            found[name].append(
                whole if name == HELP else Import(wall=float(wall), resident=float(resident))
            )
        progress.step(name)
    return {name: each for name, each in found.items() if name not in missing}, missing


def _consumed(contender: Contender, job: str, target: Target, shape: type[R]) -> R:
    python = str(peers.PYTHON) if contender.package else sys.executable
    command = [python, "-m", "bench.consumers", contender.module, job, contender.variant]
    said = run(command, json.dumps(dataclasses.asdict(target)))
    found = msgspec.json.decode(said.encode(), type=shape)
    wanted = 2 * target.objects if job == "list" else target.events - 1
    if found.count < wanted:
        raise Failed(f"found {found.count} of {wanted}")
    return found


def run(command: list[str], given: str = "", *, patience: float = PATIENCE) -> str:
    """Return what ``command`` printed; it gets no argument that is a secret, hence ``given``."""
    try:
        done = subprocess.run(
            command,
            input=given,
            cwd=peers.ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no figure after {patience:.0f} s") from error
    if done.returncode != 0:
        raise Failed(" ".join(done.stderr.strip().splitlines()[-1:]) or "ended without a word")
    return done.stdout
