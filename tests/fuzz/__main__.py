"""``make fuzz``: look for inputs that a parser of foreign bytes does not survive.

Each target runs for so many seconds, from what is kept in the repository and from what earlier
runs have found (build/fuzz). An input that breaks one is left in a file, and named.
"""

import argparse
import time

from tests.fuzz.led import TARGETS, fuzzed
from tests.fuzz.target import CORPUS
from tests.support.arguments import at_least_one, ended

LAST_LINES = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which ones; all, if none is named")
    parser.add_argument("--seconds", type=at_least_one, default=30, help="for each (30)")
    arguments = parser.parse_args()
    unknown = set(arguments.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    names = arguments.targets or list(TARGETS)
    started, tried, broken = time.monotonic(), 0, 0
    for name in names:
        run = fuzzed(name, arguments.seconds)
        tried += run.tried
        broken += bool(run.broken)
        print(f"{name:36} {run.tried:>9} inputs, {'BROKEN' if run.broken else 'holds'}", flush=True)
        for path in run.broken:
            print(f"  {path}; once it is mended, keep it in {CORPUS / name}")
            print("\n".join(f"  {line}" for line in run.said.splitlines()[-LAST_LINES:]))
    took = time.monotonic() - started
    print(f"{len(names)} targets, {tried} inputs in {took:.0f} s; {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    ended(main)
