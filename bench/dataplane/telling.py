"""From what proxies were told to a report: pure, so that a recorded run can be shown again."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from bench.dataplane.figures import Change, Scale, Told
from bench.growth import Growth
from bench.plots import Line, Plot
from bench.report import Report, loads, machine
from bench.tables import Table, spread
from bench.verdicts import Verdict

PORTS = "ports on one proxy"


def told(found: Told) -> Report:
    """Report on how much proxies were told, and how fast."""
    versions = ", ".join(f"{program} {version}" for program, version in found.versions.items())
    rounds = max((len(each) for each in _grouped(found.scales).values()), default=0)
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}, {versions}; median of "
            f"{rounds} interleaved rounds (lowest … highest); {loads([found.load])}."
        ),
        tables=(_scales(found.scales), _changes(found.scales)),
        verdicts=tuple(verdicts(found)),
        missing=found.missing,
        growths=tuple(growths(found)),
        plots=_plots(found),
    )


def verdicts(found: Told) -> Iterator[Verdict]:
    changes = [change for scale in found.scales for change in scale.changes]
    if changes:
        extra = max(change.sent - change.own for change in changes)
        yield Verdict(
            goal="one change sends nothing but what it changes",
            met=extra <= 0,
            evidence=f"{max(extra, 0)} resources too many",
        )


def growths(found: Told) -> Iterator[Growth]:
    """Yield what grows with the number of ports, for each role."""
    figures: tuple[tuple[str, str, Callable[[Scale], float]], ...] = (
        ("build of all resources, CPU", "s", lambda one: one.build.ours),
        ("delivery, controller's CPU", "s", lambda one: one.deliver.ours),
        ("delivery, Envoy's CPU", "s", lambda one: one.deliver.envoy),
        ("delivery, wall", "s", lambda one: one.deliver.wall),
        ("controller's memory", "MB", lambda one: one.ours - one.ours_before),
        ("Envoy's memory", "MB", lambda one: one.envoy - one.envoy_before),
    )
    for role in dict.fromkeys(one.role for one in found.scales):
        for what, unit, figure in figures:
            yield Growth(
                what=f"{role}: {what}", by=PORTS, unit=unit, points=_points(found, role, figure)
            )
        yield Growth(
            what=f"{role}: one change, p50",
            by=PORTS,
            unit="ms",
            points=_points(found, role, _one_change),
            should_be="constant",
        )


def _points(
    found: Told, role: str, figure: Callable[[Scale], float]
) -> tuple[tuple[float, float], ...]:
    return tuple(
        (float(ports), median(map(figure, each)))
        for (known, ports), each in _grouped(found.scales).items()
        if known == role
    )


def _one_change(scale: Scale) -> float:
    return median(change.wall for change in scale.changes) * 1000


def _grouped(scales: Sequence[Scale]) -> dict[tuple[str, int], list[Scale]]:
    found: dict[tuple[str, int], list[Scale]] = {}
    for one in scales:
        found.setdefault((one.role, one.ports), []).append(one)
    return found


def _scales(scales: Sequence[Scale]) -> Table:
    rows = []
    for (role, ports), each in _grouped(scales).items():
        rows.append(
            (
                f"{role}, {ports:,}",
                _spread(each, lambda one: one.build.wall, 2),
                _spread(each, lambda one: one.deliver.wall, 2),
                _spread(each, lambda one: one.build.ours + one.deliver.ours, 2),
                _spread(each, lambda one: one.deliver.envoy, 2),
                _spread(each, lambda one: one.message / 1e6, 2),
                _spread(each, lambda one: one.ours, 0),
                _spread(each, lambda one: (one.ours - one.ours_before) * 1000 / one.ports, 1),
                _spread(each, lambda one: one.envoy, 0),
                _spread(each, lambda one: (one.envoy - one.envoy_before) * 1000 / one.ports, 1),
            )
        )
    return Table(
        title="All ports of one proxy, half as bytes, half as requests",
        columns=(
            *("", "build s", "delivered s", "CPU s", "Envoy's CPU s", "MB sent"),
            *("RSS MB", "KB/port", "Envoy's RSS MB", "KB/port"),
        ),
        rows=tuple(rows),
    )


def _changes(scales: Sequence[Scale]) -> Table:
    found: dict[tuple[str, str, int], list[Change]] = {}
    for scale in scales:
        for change in scale.changes:
            found.setdefault((scale.role, change.what, scale.ports), []).append(change)
    return Table(
        title="One change among many ports, from its making until acknowledged",
        columns=("", "samples", "resources sent", "bytes, at most", "ms, p50", "highest"),
        rows=tuple(
            (
                f"{role}, {ports:,}: {what}",
                str(len(each)),
                "…".join(str(n) for n in sorted({one.sent for one in each})),
                f"{median(one.message for one in each):,.0f}",
                f"{median(one.wall for one in each) * 1000:.1f}",
                f"{max(one.wall for one in each) * 1000:.1f}",
            )
            for (role, what, ports), each in found.items()
        ),
    )


def _plots(found: Told) -> dict[str, Plot]:
    figures: tuple[tuple[str, str, str, Callable[[Scale], float]], ...] = (
        ("told", "From nothing to all acknowledged", "seconds", lambda one: one.deliver.wall),
        ("told-memory", "What an Envoy keeps in memory", "MB", lambda one: one.envoy),
    )
    roles = dict.fromkeys(one.role for one in found.scales)
    return {
        name: Plot(
            title=title,
            x_label=PORTS,
            y_label=unit,
            lines=tuple(Line(role, _points(found, role, figure)) for role in roles),
        )
        for name, title, unit, figure in figures
    }


def _spread(each: Sequence[Scale], figure: Callable[[Scale], float], digits: int) -> str:
    return spread([figure(one) for one in each], digits)
