"""Runs a target under Atheris, which is led to new inputs by the code that they reach.

All that a target may call is instrumented while it is imported, which takes seconds: once for all
of them, each of which then runs in a fork.
"""

import os
import re
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import NoReturn

import atheris

# It says of every module that it is instrumented.
with redirect_stderr(StringIO()), atheris.instrument_imports(include=["isthmus"]):
    from tests.fuzz.every import TARGETS

from tests.fuzz.mutation import mutated
from tests.fuzz.target import CORPUS, kept

__all__ = [
    "TARGETS",
    "Run",
    "fuzzed",
]  # whoever imports them from elsewhere gets them uninstrumented

FOUND = Path("build") / "fuzz"
MEMORY = 2048  # MiB that a target may take
LONGEST = 20  # seconds for one input


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one target."""

    tried: int  # inputs
    broken: tuple[Path, ...]  # those that it did not survive
    said: str


def fuzzed(name: str, seconds: int) -> Run:
    """Look for inputs that a target does not survive, for so many seconds."""
    grown, crashes, log = (FOUND / name / part for part in ("corpus", "broken", "log"))
    for folder in (grown, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    options = (
        f"-max_total_time={seconds}",
        f"-artifact_prefix={crashes}/",
        f"-rss_limit_mb={MEMORY}",
        f"-timeout={LONGEST}",
        "-max_len=8192",
        "-print_final_stats=1",
        str(grown),
        str(CORPUS / name),
    )
    child = os.fork()
    if not child:
        _fuzz(name, options, log)
    _, status = os.waitpid(child, 0)
    said = log.read_text(errors="replace")
    tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    broken = tuple(sorted(set(crashes.iterdir()) - before))
    if status and not broken:
        raise SystemExit(f"{name} could not be run ({status}):\n{said[-3000:]}")
    return Run(int(tried[1]) if tried else 0, broken, said)


def _fuzz(name: str, options: tuple[str, ...], log: Path) -> NoReturn:
    """Become the process that runs the target; what it says goes to a file."""
    with log.open("wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    others = list(kept(name).values())

    def changed(data: bytes, largest: int, seed: int) -> bytes:
        """Half of the inputs are made by libFuzzer, half by what knows JSON."""
        dice = Random(seed)
        if dice.random() < 0.5:
            return bytes(atheris.Mutate(data, largest))
        return mutated(data, dice, others)[:largest]

    atheris.Setup([name, *options], TARGETS[name], custom_mutator=changed)
    atheris.Fuzz()  # which ends the process
    os._exit(0)
