"""``make coverage``: which error path of the rooms that must not fail has no test ever reached?

Runs the tests of those rooms, and lists every except, every raise, every arm of a match and every
other line that none of them came by. There must be none.
"""

import argparse
import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

ROOMS = ("catalogue", "core", "kube", "pki", "xds")
SOURCE = Path("src/isthmus")
DATA = ".coverage.reached"
# Rooms are reached by their own tests, and by those of whoever is their only user. Of the servers
# on which the contract is tried, the one without sockets is enough.
RUNS = (
    (
        "not e2e and not real",
        *(f"tests/{room}" for room in ROOMS),
        "tests/cli/test_applying.py",
        "tests/cli/trusting",
        "tests/envoy/test_bootstrap.py",
        "tests/apps/test_proxies.py",
    ),
    ("not e2e and not real and not sockets", "tests/contract"),
)


class Gap(NamedTuple):
    """Something that no test has reached."""

    path: Path
    line: int
    kind: str

    def __str__(self) -> str:
        text = self.path.read_text().splitlines()[self.line - 1].strip()
        return f"{self.path}:{self.line}: {self.kind}: {text}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reached", description=__doc__)
    parser.add_argument("--again", action="store_true", help="look at the last run's data")
    started = time.monotonic()
    if not parser.parse_args().again and not _run():
        print("no verdict: tests have failed")
        return 1
    measured = Coverage(data_file=DATA, config_file="pyproject.toml")
    measured.load()
    gaps: list[Gap] = []
    for room in ROOMS:
        counted = dict.fromkeys(("except", "raise", "arm", "line"), 0)
        found: list[Gap] = []
        for path in sorted((SOURCE / room).rglob("*.py")):
            _, lines, _, missing, _ = measured.analysis2(str(path))
            tree = ast.parse(path.read_text())
            for kind, line in _paths(tree):
                counted[kind] += 1
                if line in missing:
                    found.append(Gap(path, line, kind))
            counted["line"] += len(lines)
            known = {gap.line for gap in found if gap.path == path}
            found += [Gap(path, line, "line") for line in missing if line not in known]
        gaps += found
        said = ", ".join(f"{count} {kind}s" for kind, count in counted.items())
        print(f"{room:9} {said}; not reached: {len(found)}")
    for gap in gaps:
        print(gap)
    print(f"{'all reached' if not gaps else f'{len(gaps)} not reached'}, ", end="")
    print(f"after {time.monotonic() - started:.0f} s")
    return 1 if gaps else 0


def _run() -> bool:
    return all(_passes(*run, first=at == 0) for at, run in enumerate(RUNS))


def _passes(chosen: str, *tests: str, first: bool) -> bool:
    measuring = ["-m", "coverage", "run", f"--data-file={DATA}", *([] if first else ["--append"])]
    command = [sys.executable, *measuring, "-m", "pytest", "-q", "-m", chosen, *tests]
    return subprocess.run(command, check=False).returncode == 0


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
