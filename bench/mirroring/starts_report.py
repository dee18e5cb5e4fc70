"""From figures about cold starts to a report: pure, so that a recorded run can be shown again."""

from collections.abc import Mapping, Sequence
from statistics import median

from bench.growth import Growth
from bench.mirroring.figures import Growing, Size, Sync
from bench.plots import Line, Plot
from bench.report import Report, days, loads, machines
from bench.tables import Table, spread
from bench.verdicts import Verdict

FLOOR_SHARE = 0.90
SERVER_SHARE = 1.2  # of the API server's processor time for the same writes
# Of the service mirror of Linkerd, measured by us earlier on a machine of the same kind: its
# client is limited to five requests a second, of which a Service takes three.
LINKERD_RATE = 1.67  # Services a second, at any size
LINKERD_MEMORY = 92.0  # MB with 1,000 mirrors
LINKERD_AT = 1000
LINKERD_TIMES = 70
SERVICES, PODS, LINKS = "exported Services", "pods of one headless Service", "links"
OURS, FLOOR = "isthmus controller", "floor: the same writes, bare"


def growing(found: Growing, by: str) -> Report:
    """Report on cold starts, by the number of what ``by`` says."""
    rounds = [one for size in found.sizes for one in size.counted]
    where = machines([one.machine for one in found.sizes])
    empty = _several([one.empty.kept for one in found.sizes], 0)
    empty_cpu = _several([one.empty.cpu for one in found.sizes], 2)
    return Report(
        head=(
            f"Measured on {days([one.date for one in found.sizes])}: {where}; "
            f"median of {_several([len(one.counted) for one in found.sizes], 0)} interleaved "
            f"rounds (lowest … highest){_chosen(found)}; {loads([one.load for one in rounds])}. "
            f"A controller with nothing to mirror: {empty} MB, {empty_cpu} s of CPU."
        ),
        tables=(_cold(found, by),),
        verdicts=tuple(verdict for size in found.sizes for verdict in _of_size(size))
        if by == SERVICES
        else (),
        missing={
            f"{size.count:,}: {what}": why
            for size in found.sizes
            for what, why in size.missing.items()
        },
        growths=growths(found, by),
        plots={} if by != SERVICES else {"cold": _cold_plot(found), "memory": _memory_plot(found)},
    )


def growths(found: Growing, by: str) -> tuple[Growth, ...]:
    """Return what grows with the number, less what it is without any."""
    empty = {size.count: size.empty for size in found.sizes}

    def points(figures: Mapping[int, float]) -> tuple[tuple[float, float], ...]:
        return tuple((float(count), figure) for count, figure in figures.items())

    ours = {size.count: _middle([one.ours for one in size.counted]) for size in found.sizes}
    floor = {size.count: _middle([one.floor for one in size.counted]) for size in found.sizes}
    by_ours = {count: one.writing for count, one in ours.items()}
    by_floor = {count: one.writing for count, one in floor.items()}
    cpu = {count: one.cpu - empty[count].cpu for count, one in ours.items()}
    kept = {count: one.kept - empty[count].kept for count, one in ours.items()}
    return (
        Growth(what="controller's CPU", by=by, unit="s", points=points(cpu)),
        Growth(what="controller's memory", by=by, unit="MB", points=points(kept)),
        Growth(
            what="cold start, from the first write on",
            by=by,
            unit="s",
            points=points(by_ours),
            should_be="the server's",
        ),
        Growth(
            what="the floor's writes",
            by=by,
            unit="s",
            points=points(by_floor),
            should_be="the server's",
        ),
    )


def _of_size(size: Size) -> list[Verdict]:
    named = f"{size.count:,} {SERVICES}"
    cold = median(one.cold_ratio for one in size.counted)
    even = size.even_ratios
    writing = median(one.writing_ratio for one in size.counted)
    servers = median(one.ours.server_cpu / one.floor.server_cpu for one in size.counted)
    judged = [
        Verdict(
            goal=f"{named} from a cold start at ≥ {FLOOR_SHARE:.0%} of the floor's rate",
            met=(median(even) if even else cold) >= FLOOR_SHARE,
            evidence=f"{_even(even)}{cold:.0%}{' by the clock' if even else ''}; "
            f"{writing:.0%} from the first write on{_calm(size)}",
        ),
        Verdict(
            goal=f"{named}: the API server's CPU ≤ {SERVER_SHARE} times the floor's",
            met=servers <= SERVER_SHARE,
            evidence=f"{servers:.2f}",
        ),
    ]
    if size.count == LINKERD_AT:
        judged += _beside_linkerd(size)
    return judged


def _even(ratios: Sequence[float]) -> str:
    """Say what is reached where the machine is as fast for both, if anybody has looked."""
    if not ratios:
        return ""
    low, high = min(ratios), max(ratios)
    return f"{median(ratios):.0%} at even speed ({low:.0%} … {high:.0%}); "


def _calm(size: Size) -> str:
    """Say what the rounds show that nobody disturbed, if others count, too."""
    if len(size.calm) >= len(size.counted):
        return ""
    if not size.calm:
        return "; the host disturbed every round"
    found = median(one.cold_ratio for one in size.calm)
    return f"; {found:.0%} in the {len(size.calm)} of {len(size.rounds)} that nobody disturbed"


def _beside_linkerd(size: Size) -> list[Verdict]:
    """Compare at the one size at which Linkerd's mirror was measured."""
    ours = _middle([one.ours for one in size.counted])
    times = size.count / ours.wall / LINKERD_RATE
    named = f"{LINKERD_AT:,} {SERVICES}"
    return [
        Verdict(
            goal=f"{named} ≥ {LINKERD_TIMES} times as fast as Linkerd's {LINKERD_RATE}/s",
            met=times >= LINKERD_TIMES,
            evidence=f"{times:.0f} times",
        ),
        Verdict(
            goal=f"memory with {named} below Linkerd's {LINKERD_MEMORY:.0f} MB",
            met=ours.kept < LINKERD_MEMORY,
            evidence=f"{ours.kept:.0f} MB",
        ),
    ]


def _cold(found: Growing, by: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for size in found.sizes:
        ours, floor = [one.ours for one in size.counted], [one.floor for one in size.counted]
        added = (_middle(ours).kept - size.empty.kept) * 1000 / size.mirrors
        rows.append(_row(f"{size.count:,}: {OURS}", ours, size.mirrors, f"{added:.1f}"))
        rows.append(_row(f"{size.count:,}: {FLOOR}", floor, size.mirrors))
        for name in dict.fromkeys(name for one in size.counted for name in one.peers):
            each = [one.peers[name] for one in size.counted if name in one.peers]
            rows.append(_row(f"{size.count:,}: {name}", each, size.mirrors))
        rows.append(
            (
                f"{size.count:,}: floor ÷ ours",
                spread([one.cold_ratio for one in size.counted], 2),
                f"{spread([one.writing_ratio for one in size.counted], 2)} without it",
                f"{spread(size.even_ratios, 2)} at even speed" if size.even_ratios else "",
                *([""] * 5),
            )
        )
        if by == SERVICES and size.count == LINKERD_AT:
            rows.append(_linkerd(size.count))
    return Table(
        title=f"From a cold start to all mirrored, by {by}",
        columns=(
            *("", "wall s", "of it before the first write", "mirrors/s", "CPU s"),
            *("API server's CPU s", "RSS MB", "peak", "KB per mirror"),
        ),
        rows=tuple(rows),
    )


def _row(name: str, each: Sequence[Sync], mirrors: int, added: str = "") -> tuple[str, ...]:
    return (
        name,
        spread([one.wall for one in each], 2),
        spread([one.leading for one in each], 2) if each[0].leading else "",
        spread([mirrors / one.wall for one in each], 0),
        spread([one.cpu for one in each], 2),
        spread([one.server_cpu for one in each], 1),
        spread([one.kept for one in each], 0) if each[0].kept else "",
        spread([one.peak for one in each], 0) if each[0].peak else "",
        added,
    )


def _linkerd(services: int) -> tuple[str, ...]:
    wall = f"about {services / LINKERD_RATE:.0f}"
    named = f"{services:,}: Linkerd's mirror, measured earlier"
    return (named, wall, "", f"{LINKERD_RATE:.2f}", "", "", f"{LINKERD_MEMORY:.0f}", "", "")


def _cold_plot(found: Growing) -> Plot:
    def line(name: str, each: Mapping[int, float], *, is_dashed: bool = False) -> Line:
        return Line(name, tuple((float(n), wall) for n, wall in each.items()), is_dashed)

    ours = {one.count: median(each.ours.wall for each in one.counted) for one in found.sizes}
    floor = {one.count: median(each.floor.wall for each in one.counted) for one in found.sizes}
    linkerd = {one.count: one.count / LINKERD_RATE for one in found.sizes}
    return Plot(
        title="From a cold start to all mirrored",
        x_label="exported Services",
        y_label="seconds",
        lines=(
            line("isthmus", ours),
            line("floor: bare client", floor, is_dashed=True),
            line("Linkerd: 1.67 a second", linkerd, is_dashed=True),
        ),
    )


def _memory_plot(found: Growing) -> Plot:
    kept = {one.count: median(each.ours.kept for each in one.counted) for one in found.sizes}
    empty = median(one.empty.kept for one in found.sizes)
    points = ((0.0, empty), *((float(n), mb) for n, mb in kept.items()))
    return Plot(
        title="What a controller keeps in memory",
        x_label="mirrors",
        y_label="MB",
        lines=(
            Line("isthmus", points),
            Line("Linkerd at 1,000", ((float(LINKERD_AT), LINKERD_MEMORY),)),
        ),
        log_x=False,
        log_y=False,
    )


def _middle(each: Sequence[Sync]) -> Sync:
    """Return the median of every figure, as if it were one measurement."""
    return Sync(
        wall=median(one.wall for one in each),
        leading=median(one.leading for one in each),
        cpu=median(one.cpu for one in each),
        server_cpu=median(one.server_cpu for one in each),
        peak=median(one.peak for one in each),
        kept=median(one.kept for one in each),
    )


def _chosen(found: Growing) -> str:
    """Say which rounds count, if not all of them do."""
    measured = sum(len(one.rounds) for one in found.sizes)
    counted = [one for size in found.sizes for one in size.counted]
    if len(counted) == measured:
        return ""
    most = max(one.stolen for one in counted)
    return (
        f"; of {measured} rounds the {len(counted)} count in which the machine's host took least "
        f"from both sides, up to {most:.1%} of the processors"
    )


def _several(figures: Sequence[float], digits: int) -> str:
    low, high = f"{min(figures):.{digits}f}", f"{max(figures):.{digits}f}"
    return low if low == high else f"{low} to {high}"
