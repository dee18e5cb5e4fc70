"""What was promised, and whether it holds: a line for each goal, from all that is recorded.

A verdict about none of them is counted in the last line, and named there if it was missed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench import growth
from bench.growth import Growth
from bench.report import Report
from bench.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Goal:
    """A promise, and how to find the verdicts about it among those of all parts."""

    promise: str
    is_about: Callable[[str], bool]  # by what a verdict is about


def _has(*texts: str) -> Callable[[str], bool]:
    return lambda goal: all(text in goal for text in texts)


GOALS = (
    Goal(
        "cold mirroring of thousands at ≥ 90 % of the floor's rate",
        _has(",000 exported Services from"),
    ),
    Goal("cold mirroring ≥ 70 times as fast as Linkerd's", _has("as fast as Linkerd's")),
    Goal("one change: p50 ≤ 1.5 and p99 ≤ 4 times the floor, idle", _has("one change, idle")),
    Goal("the same in a cold start of 1,000 others", _has("one change, in a cold start")),
    Goal("the same in a storm of 100 changes a second", _has("one change, in a storm")),
    Goal("a restart writes nothing", _has("writes nothing")),
    Goal("at rest, leases and watches are renewed, and no more", _has("idle seconds")),
    Goal("less memory than Linkerd's mirror, with 1,000", _has("below Linkerd's")),
    Goal("as bytes: level with the best pair on 1 connection", _has("as bytes", "on 1 c", "pair")),
    Goal("as bytes: ahead of the best pair on 32 and 256", _has("as bytes", "ahead of")),
    Goal("as requests: at least half of as bytes", _has("at least half")),
)


def judged(reports: Mapping[str, Report]) -> list[str]:
    """Return a line for each goal (met, MISSED with what missed it, or not measured), and one
    for all that was judged besides.
    """
    known = [verdict for report in reports.values() for verdict in report.verdicts]
    lines = [_line(goal, [one for one in known if goal.is_about(one.goal)]) for goal in GOALS]
    verdict = growth.verdict(growths(reports.values()))
    lines.append(str(verdict) if verdict else "not measured: how costs grow with size")
    others = [one for one in known if not any(goal.is_about(one.goal) for goal in GOALS)]
    return [*lines, _besides(others)] if others else lines


def growths(reports: Iterable[Report]) -> list[Growth]:
    return [one for report in reports for one in report.growths]


def _line(goal: Goal, verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return f"not measured: {goal.promise}"
    missed = [one for one in verdicts if not one.met]
    told = missed or verdicts
    evidence = "; ".join(f"{one.goal}: {one.evidence}" for one in told)
    held = len(verdicts) - len(missed)
    share = f"{held} of {len(verdicts)} hold; " if missed and len(verdicts) > 1 else ""
    return f"{'MISSED' if missed else 'met'}: {goal.promise} ({share}{evidence})"


def _besides(others: Sequence[Verdict]) -> str:
    """Return a line about what no goal is about: a summary without it would hide what is missed."""
    missed = [f"{one.goal} ({one.evidence})" for one in others if not one.met]
    share = f"{len(others) - len(missed)} of {len(others)} other verdicts hold"
    return f"besides: {share}" + (f"; MISSED: {'; '.join(missed)}" if missed else "")
