"""From figures about the catalogue to a report: pure, so that a run can be shown again."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from bench.catalogue.figures import Catalogue, Followed
from bench.growth import Growth
from bench.plots import Line, Plot
from bench.report import Report, loads, machine
from bench.tables import Table, percentile, spread

EXPORTS = "exports in the catalogue"


def catalogue(found: Catalogue) -> Report:
    """Report on how fast exports are told and heard of, and what that takes."""
    versions = ", ".join(f"{program} {version}" for program, version in found.versions.items())
    rounds = max((len(each) for each in _grouped(found).values()), default=0)
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}, {versions}; median of "
            f"{rounds} interleaved rounds (lowest … highest); {loads([found.load])}."
        ),
        tables=(_snapshots(found), _changes(found)),
        missing=found.missing,
        growths=tuple(growths(found)),
        plots={"catalogue": _plot(found)},
    )


def growths(found: Catalogue) -> Iterator[Growth]:
    figures: tuple[tuple[str, str, Callable[[Followed], float]], ...] = (
        ("snapshot of the catalogue, follower's CPU", "s", lambda one: one.snapshot.cpu),
        ("snapshot of the catalogue, server's CPU", "s", _serving),
        ("snapshot of the catalogue, wall", "s", lambda one: one.snapshot.wall),
        ("memory of who serves it", "MB", lambda one: one.served.kept - one.empty.kept),
        ("memory of who follows it", "MB", lambda one: one.snapshot.kept - one.base),
    )
    for what, unit, figure in figures:
        yield Growth(what=what, by=EXPORTS, unit=unit, points=_points(found, figure))
    yield Growth(
        what="one change of the catalogue, p50",
        by=EXPORTS,
        unit="ms",
        points=_points(found, lambda one: percentile(one.single, 0.5) * 1000),
        should_be="constant",
    )


def _serving(one: Followed) -> float:
    return one.served.cpu - one.filled.cpu


def _grouped(found: Catalogue) -> dict[int, list[Followed]]:
    each: dict[int, list[Followed]] = {}
    for one in found.followed:
        each.setdefault(one.exports, []).append(one)
    return each


def _points(
    found: Catalogue, figure: Callable[[Followed], float]
) -> tuple[tuple[float, float], ...]:
    return tuple(
        (float(exports), median(map(figure, each))) for exports, each in _grouped(found).items()
    )


def _snapshots(found: Catalogue) -> Table:
    rows = []
    for exports, each in _grouped(found).items():
        rows.append(
            (
                f"{exports:,}",
                _spread(each, lambda one: one.exports / one.digest, 0),
                _spread(each, lambda one: one.snapshot.wall, 2),
                _spread(each, lambda one: one.bare, 2),
                _spread(each, lambda one: one.exports / one.snapshot.wall, 0),
                _spread(each, lambda one: one.snapshot.cpu, 2),
                _spread(each, _serving, 2),
                _spread(each, lambda one: one.snapshot_bytes / one.exports, 0),
                _spread(each, lambda one: one.served.kept, 0),
                _spread(each, lambda one: one.snapshot.kept, 0),
                _spread(each, lambda one: one.served.envoy_kept, 0),
            )
        )
    return Table(
        title="All of a catalogue, through the gateway to a follower, by the number of exports",
        columns=(
            *("", "digested/s", "heard of, s", "read only, s", "exports/s", "follower's CPU s"),
            *("server's CPU s", "bytes/export", "server's RSS MB", "follower's", "gateway's"),
        ),
        rows=tuple(rows),
    )


def _changes(found: Catalogue) -> Table:
    rows = []
    for exports, each in _grouped(found).items():
        single = [seconds * 1000 for one in each for seconds in one.single]
        rows.append(
            (
                f"{exports:,}",
                str(len(single)),
                *(f"{percentile(single, share):.2f}" for share in (0.5, 0.95, 0.99, 1.0)),
                _spread(each, lambda one: one.single_bytes, 0),
                _spread(each, lambda one: one.burst / one.burst_wall, 0),
            )
        )
    return Table(
        title="Changes of exports until a follower knows them, in ms",
        columns=("", "samples", "p50", "p95", "p99", "highest", "bytes", "changes/s at once"),
        rows=tuple(rows),
    )


def _plot(found: Catalogue) -> Plot:
    return Plot(
        title="All of a catalogue, through the gateway",
        x_label=EXPORTS,
        y_label="seconds",
        lines=(
            Line("followed", _points(found, lambda one: one.snapshot.wall)),
            Line("read and thrown away", _points(found, lambda one: one.bare), is_dashed=True),
        ),
    )


def _spread(each: Sequence[Followed], figure: Callable[[Followed], float], digits: int) -> str:
    return spread([figure(one) for one in each], digits)
