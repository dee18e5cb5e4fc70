"""From figures about what is mirrored already to a report: pure, so that it can be shown again."""

from collections.abc import Mapping, Sequence

from bench.mirroring.figures import Changes, Latency, Restart, Restarts
from bench.mirroring.starts_report import OURS
from bench.plots import Line, Plot
from bench.report import Report, days, loads, machine, machines
from bench.tables import Table, percentile
from bench.verdicts import Verdict

MEDIAN_TIMES, TAIL_TIMES = 1.5, 4.0  # of the floor's p50 and p99, for one change


def latency(found: Latency) -> Report:
    """Report on single changes."""
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}; {loads([found.load])}. "
            f"{found.mirrors:,} mirrors; the storm was of {found.storm:.0f} other changes a second."
        ),
        tables=(_changes(found),),
        verdicts=tuple(verdict for one in found.stretches for verdict in _beside_floor(one)),
        missing=found.missing,
        plots={"changes": _changes_plot(found)},
    )


def _beside_floor(one: Changes) -> list[Verdict]:
    if not (one.ours and one.floor):
        return []
    judged = []
    for name, share, limit in (("p50", 0.5, MEDIAN_TIMES), ("p99", 0.99, TAIL_TIMES)):
        times = percentile(one.ours, share) / percentile(one.floor, share)
        judged.append(
            Verdict(
                goal=f"one change, {one.when}: {name} ≤ {limit} times the floor's",
                met=times <= limit,
                evidence=f"{times:.2f}",
            )
        )
    return judged


def _sides(one: Changes) -> dict[str, tuple[float, ...]]:
    return {"isthmus": one.ours, "floor": one.floor, **one.peers}


def _changes(found: Latency) -> Table:
    rows = []
    for one in found.stretches:
        for who, figures in _sides(one).items():
            if figures:
                shares = (percentile(figures, share) * 1000 for share in (0.5, 0.95, 0.99, 1.0))
                cells = (f"{figure:.1f}" for figure in shares)
                rows.append((f"{one.when}: {who}", str(len(figures)), *cells))
    return Table(
        title="One change in the target until its mirror is seen to change, in ms",
        columns=("", "samples", "p50", "p95", "p99", "highest"),
        rows=tuple(rows),
    )


def _changes_plot(found: Latency) -> Plot:
    lines = []
    for one in found.stretches:
        for who, figures in _sides(one).items():
            points = tuple(
                (seconds * 1000, 100 * (number + 1) / len(figures))
                for number, seconds in enumerate(sorted(figures))
            )
            is_floor = who == "floor"
            family = one.when if who in ("isthmus", "floor") else ""
            lines.append(Line(f"{who}, {one.when}", points, is_floor, family))
    return Plot(
        title="One change until its mirror is seen to change",
        x_label="ms",
        y_label="% of all changes",
        lines=tuple(lines),
        log_y=False,
    )


def restarts(found: Restarts) -> Report:
    """Report on controllers that find everything in place, and on rest."""
    return Report(
        head=(
            f"Measured on {days([one.date for one in found.each])}: "
            f"{machines([one.machine for one in found.each])}; "
            f"{loads([one.load for one in found.each])}."
        ),
        tables=(_restarts(found.each),),
        verdicts=tuple(verdict for one in found.each for verdict in _quiet(one)),
    )


def _is_renewal(request: str) -> bool:
    return request.endswith(" leases") or request.startswith("WATCH ")


def _quiet(one: Restart) -> list[Verdict]:
    extra = {name: n for name, n in one.idle_requests.items() if not _is_renewal(name)}
    return [
        Verdict(
            goal=f"a restart among {one.mirrors:,} mirrors writes nothing",
            met=not one.writes,
            evidence=listed(one.writes),
        ),
        Verdict(
            goal=f"{one.idle:.0f} idle seconds with {one.mirrors:,} mirrors: "
            "nothing but leases and watches, renewed",
            met=not extra,
            evidence=listed(extra),
        ),
    ]


def _restarts(each: Sequence[Restart]) -> Table:
    rows = []
    for one in each:
        bare = one.floor
        rows.append(
            (
                f"{one.mirrors:,}: {OURS}",
                *(f"{one.ready:.2f}", f"{one.settled:.2f}", f"{one.cpu:.2f}", f"{one.kept:.0f}"),
                *(listed(one.writes), f"{listed(one.idle_requests)} in {one.idle:.0f} s"),
                f"{one.idle_cpu:.2f}",
            )
        )
        if bare is not None:
            named = f"{one.mirrors:,}: floor, reads and holds the same"
            cost = (f"{bare.wall:.2f}", f"{bare.cpu:.2f}", f"{bare.kept:.0f}")
            rows.append((named, "", *cost, "", "", ""))
    return Table(
        title="Restart with all mirrors in place, and rest",
        columns=(
            *("", "to ready s", "to settled s", "CPU s", "RSS MB"),
            *("writes, leases apart", "requests at rest", "CPU s at rest"),
        ),
        rows=tuple(rows),
    )


def listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"
