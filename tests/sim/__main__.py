"""``make sim``: play many schedules of faults, on all cores, and show the first that fail.

A seed makes a schedule, and the same seed makes the same one again: ``--first SEED --seeds 1``, or
``show SEED`` for its timeline. ``mutations`` builds bugs in, one by one, and counts the schedules
until each is noticed.
"""

import argparse
import os
import time

from tests.sim import states
from tests.sim.kept import FOLDER, stories, written, wrong_with
from tests.sim.mutations import BUGS, RARE, built_in
from tests.sim.play import Story, story
from tests.sim.running import BATCH, Sum, many, played, prepare, with_fixed_hashes
from tests.sim.seeking import seek
from tests.sim.shrink import shortest
from tests.support.arguments import at_least_one, ended, natural, positive

SHOWN = 3  # failures that are looked at more closely
LINES = 60  # of a timeline


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=at_least_one, default=200, help="how many schedules (200)")
    parser.add_argument("--first", type=natural, default=0, help="the first seed (0)")
    parser.add_argument("--minutes", type=positive, default=600, help="begin none after that (600)")
    cores = os.cpu_count()
    parser.add_argument("--workers", type=at_least_one, default=cores, help="processes (all cores)")
    commands = parser.add_subparsers(dest="command")
    show = commands.add_parser("show", help="play one seed and print what happens")
    show.add_argument("seed", type=natural, help="its number")
    named = "with a bug built in, by its name in docs/reliability.md"
    show.add_argument("--bug", default="", choices=["", *BUGS], metavar="NAME", help=named)
    show.add_argument("--keep", default="", help="keep the shortest that fails, under this name")
    commands.add_parser("kept", help="play all schedules that are kept")
    bugs = commands.add_parser("mutations", help="how many schedules each built-in bug takes")
    bugs.add_argument("--limit", type=at_least_one, default=2000, help="schedules for each (2000)")
    bugs.add_argument("--only", default="", help="bugs with this in their names")
    arguments = parser.parse_args()
    if arguments.command == "mutations" and not any(arguments.only in name for name in BUGS):
        parser.error(f"no bug has {arguments.only!r} in its name; there are: {', '.join(BUGS)}")
    with_fixed_hashes()
    match arguments.command:
        case "show":
            return _show(str(arguments.seed), arguments.bug, arguments.keep)
        case "kept":
            return _kept()
        case "mutations":
            return _mutations(arguments.limit, arguments.only, arguments.workers)
        case _:
            seeds = range(arguments.first, arguments.first + arguments.seeds)
            return _many(seeds, arguments.workers, arguments.minutes)


def _many(seeds: range, workers: int, minutes: float) -> int:
    began, total = time.monotonic(), Sum()
    for number, found in enumerate(many(seeds, workers), 1):
        total.add(found)
        for failure in found.failures:
            _say(f"seed {failure.seed} fails, by {failure.rule}")
        if time.monotonic() - began > 60 * minutes:
            break
        if number % (500 // BATCH) == 0:
            passed = time.monotonic() - began
            _say(
                f"{total.played} of {len(seeds)} schedules played in {passed:.0f} s, "
                f"{len(total.failures)} failed"
            )
    for failure in total.failures[:SHOWN]:
        _say(f"seed {failure.seed}: {failure.wrong}")
        _explain(story(failure.seed), failure.rule)
    for failure in total.failures[SHOWN:]:
        _say(f"seed {failure.seed}: {failure.wrong.splitlines()[0]}")
    _say("faults injected: " + ", ".join(f"{n} {c}" for n, c in sorted(total.injected.items())))
    # Rotations and reflectors have faults of their own, and no controller that they could meet.
    faults = len({fault for fault, _ in total.pairs})
    _say(
        f"coverage: {len(total.pairs)} pairs of a fault and a controller's state, "
        f"of {faults} x {len(states.every())} = {faults * len(states.every())}"
    )
    passed = time.monotonic() - began
    _say(f"{total.seconds / 3600:.0f} hours of virtual time, {total.writes} writes")
    _say(f"in {passed:.0f} s, {workers} processes: {passed * workers / total.played:.3f} s each")
    _say(f"{total.played - len(total.failures)} passed, {len(total.failures)} failed")
    return 1 if total.failures else 0


def _explain(told: Story, rule: str, bug: str = "") -> Story:
    """Print the shortest schedule found, and what happens in it; return it."""
    prepare()
    with built_in(bug):
        short = shortest(told, played, rule)
        outcome = played(short, lines=True)
    _say(f"the shortest schedule found, {len(short.steps)} of {len(told.steps)} steps:")
    _say(written(short))
    _say(f"what happens in it (the last {LINES} lines):")
    for line in outcome.lines[-LINES:]:
        _say(f"    {line[:200]}")
    return short


def _kept() -> int:
    """Play what is kept: it has to pass, and to fail if the bug that it is named after is back."""
    prepare()
    failed = 0
    for name, told in stories().items():
        wrong = wrong_with(name, told)
        failed += bool(wrong)
        _say(f"{name}: {wrong or 'passes'}")
    _say(f"{len(stories()) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _show(seed: str, bug: str, keep: str) -> int:
    prepare()
    told = story(seed)
    with built_in(bug):
        outcome = played(told, lines=True)
    for line in outcome.lines:
        _say(line)
    _say(outcome.wrong or "nothing is wrong")
    if outcome.wrong and keep:
        short = _explain(told, outcome.rule, bug)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{keep}.jsonl").write_text(written(short))
    elif keep:
        _say("so there is nothing to keep")
    return 1 if outcome.wrong else 0


def _mutations(limit: int, only: str, workers: int) -> int:
    survivors = []
    for bug in (name for name in BUGS if only in name and name not in RARE):
        began = time.monotonic()
        found = seek(bug, limit, workers)
        took = f"{time.monotonic() - began:.0f} s"
        if found.failure is None:
            survivors.append(bug)
            _say(f"{bug:40} SURVIVES {found.played} schedules ({took})")
        else:
            rule, seed = found.failure.rule, found.failure.seed
            _say(f"{bug:40} {found.played:5} schedules, by {rule} (seed {seed}, {took})")
    _say(f"{len(BUGS) - len(survivors)} of {len(BUGS)} bugs caught" if not only else "")
    return 1 if survivors else 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    ended(main)
