"""``make coverage``: which error path of the rooms that must not fail has no test ever reached?

Runs the tests of those rooms, and lists every except, every raise, every arm of a match, every
other line that none of them came by, and every line that they all left in the same direction
though it has several. There must be none.
"""

import argparse
import ast
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

ROOMS = ("catalogue", "core", "kube", "pki", "xds")
SOURCE = Path("src/isthmus")
DATA = Path(".coverage.reached").absolute()  # some tests start processes elsewhere
KINDS = {
    "except": "excepts",
    "raise": "raises",
    "arm": "arms",
    "branch": "branches",
    "line": "lines",
}
# Rooms are reached by their own tests, and by those of whoever is their only user.
TESTS = (
    *(f"tests/{room}" for room in ROOMS),
    "tests/cli/test_applying.py",
    "tests/cli/trusting",
    "tests/envoy/test_bootstrap.py",
    "tests/apps/test_proxies.py",
)
# What properties come by is a matter of luck: only examples that are written down count here.
WRITTEN = "--hypothesis-profile=written"


class Gap(NamedTuple):
    """Something that no test has reached."""

    path: Path
    line: int
    kind: str

    def __str__(self) -> str:
        text = self.path.read_text().splitlines()[self.line - 1].strip()
        return f"{self.path}:{self.line}: {self.kind}: {text}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reached",
        usage="%(prog)s [-h] [--again] [OPTIONS OF PYTEST]",
        description=__doc__,
    )
    parser.add_argument("--again", action="store_true", help="look at the last run's data")
    started = time.monotonic()
    options, more = parser.parse_known_args()
    if not options.again and not _run(more):
        print("no verdict: tests have failed")
        return 1
    measured = Coverage(data_file=str(DATA), config_file="pyproject.toml")
    measured.load()
    gaps: list[Gap] = []
    for room in ROOMS:
        counted: Counter[str] = Counter()
        found: list[Gap] = []
        for path in sorted((SOURCE / room).rglob("*.py")):
            found += _gaps(path, measured, counted)
        gaps += found
        said = ", ".join(f"{counted[kind]} {kinds}" for kind, kinds in KINDS.items())
        print(f"{room:9} {said}; not reached: {len(found)}")
    for gap in gaps:
        print(gap)
    print(f"{'all reached' if not gaps else f'{len(gaps)} not reached'}, ", end="")
    print(f"after {time.monotonic() - started:.0f} s")
    return 1 if gaps else 0


def _run(options: Sequence[str]) -> bool:
    for old in DATA.parent.glob(f"{DATA.name}*"):
        old.unlink()
    measuring = [sys.executable, "-m", "coverage", "run", f"--data-file={DATA}"]
    testing = ["-m", "pytest", "-q", *options, WRITTEN, *TESTS]
    order = os.environ | {"PYTHONHASHSEED": "0"}
    passed = subprocess.run([*measuring, *testing], check=False, env=order).returncode == 0
    every_process = Coverage(data_file=str(DATA), config_file="pyproject.toml")
    every_process.combine()
    every_process.save()
    return passed


def _gaps(path: Path, measured: Coverage, counted: Counter[str]) -> Iterator[Gap]:
    """Yield what is not reached in one file, and count what there is to reach."""
    _, lines, _, missing, _ = measured.analysis2(str(path))
    known = set()
    for kind, line in _paths(ast.parse(path.read_text())):
        counted[kind] += 1
        if line in missing:
            known.add(line)
            yield Gap(path, line, kind)
    counted["line"] += len(lines)
    yield from (Gap(path, line, "line") for line in missing if line not in known)
    for line, (ways, taken) in measured.branch_stats(str(path)).items():
        counted["branch"] += ways
        if taken < ways and line not in missing:
            yield Gap(path, line, "branch")


def _paths(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield where a program goes when something is not as it should be, and how it gets there."""
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler(body=[first, *_]):
                yield "except", first.lineno
            case ast.Raise(lineno=line):
                yield "raise", line
            case ast.match_case(body=[first, *_]) if not _is_closed(first):
                yield "arm", first.lineno


def _is_closed(statement: ast.stmt) -> bool:
    """Tell whether the type checker has proved that nothing comes here."""
    match statement:
        case ast.Expr(ast.Call(func=ast.Name(id="assert_never"))):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
