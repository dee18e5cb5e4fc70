"""From figures to a report: pure, so that a recorded run can be shown again."""

from collections.abc import Sequence

from bench.firstcall.figures import FirstCalls, Waited
from bench.report import Report, loads, machine
from bench.tables import Table, percentile

SHARES = (0.5, 0.9, 0.99, 1.0)


def first_calls(found: FirstCalls) -> Report:
    """Report on how soon what was typed in one cluster can be called from another."""
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}; two clusters of the lab on one "
            f"machine, each Service after the one before was called; {loads([found.load])}."
        ),
        tables=(
            Table(
                title="From typing a command to the first good call by a pod of east, in ms",
                columns=("", "Services", "p50", "p90", "p99", "longest", "kubectl itself, p50"),
                rows=(
                    _row("`kubectl label` in west, called as a mirror in east", found.labelled),
                    _row("floor: `kubectl apply` of a Service in east itself", found.created),
                ),
            ),
        ),
    )


def _row(who: str, each: Sequence[Waited]) -> tuple[str, ...]:
    answered = [one.answered * 1000 for one in each]
    typed = [one.typed * 1000 for one in each]
    return (
        who,
        str(len(each)),
        *(f"{percentile(answered, share):.0f}" for share in SHARES),
        f"{percentile(typed, 0.5):.0f}",
    )
