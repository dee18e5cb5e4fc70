"""From what was carried to a report: pure, so that a recorded run can be shown again."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from bench.dataplane.figures import Reading, Traffic
from bench.dataplane.load import CONNECTIONS, LONG, MANY, ONE_IN, SHORT, named
from bench.dataplane.ways import BYTES, DIRECT, FLOOR, ONE, OURS, REQUESTS, kind, who
from bench.dataplane.ways import named as way
from bench.plots import Line, Plot
from bench.report import Report, loads, machine
from bench.tables import Table, spread
from bench.verdicts import Verdict

LEVEL = 0.95  # of the best pair's figure is level with it: no run tells less apart
HALF = 0.5  # of the rate as bytes is what requests should reach
NOT_PEERS = frozenset({OURS, DIRECT, FLOOR, ONE})
AHEAD = frozenset(named(size, count) for size in (SHORT, LONG) for count in CONNECTIONS[1:])
STEPS = {named(size, count): count for size in (SHORT, LONG) for count in CONNECTIONS}


def traffic(found: Traffic, name: str) -> Report:
    """Report on one group of loads; ``name`` is what its drawings are called by."""
    versions = ", ".join(f"{program} {version}" for program, version in found.versions.items())
    return Report(
        head=(
            f"Measured on {found.date}: {machine(found.machine)}, {versions}; median of "
            f"{_rounds(found)} interleaved rounds (lowest … highest); {loads([found.load])}."
        ),
        tables=tuple(_tables(found)),
        verdicts=tuple(verdicts(found)),
        missing=found.missing,
        plots=_plots(found, name),
    )


def verdicts(found: Traffic) -> Iterator[Verdict]:
    """Judge every load: beside the best pair, and requests beside bytes."""
    for load in _loads(found.readings):
        readings = [one for one in found.readings if one.load == load]
        yield from _beside_peers(readings)
        yield from _requests_beside_bytes(readings)


def _beside_peers(readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Compare with the best pair of each round, bytes with bytes and requests with requests."""
    load = readings[0].load
    for ours in dict.fromkeys(one.path for one in readings if who(one.path) == OURS):
        ratios = [
            rate(one) / max(map(rate, peers))
            for one in readings
            if one.path == ours and (peers := _peers(one, readings))
        ]
        if ratios:
            is_ahead = kind(ours) == BYTES and load in AHEAD
            word, limit = ("ahead of", 1.0) if is_ahead else ("level with", LEVEL)
            yield Verdict(
                goal=f"{kind(ours)}, {load}: {word} the best pair",
                met=median(ratios) >= limit,
                evidence=f"{median(ratios):.2f} of its rate",
            )


def _requests_beside_bytes(readings: Sequence[Reading]) -> Iterator[Verdict]:
    tunnel = {one.round: one for one in readings if one.path == way(OURS, BYTES)}
    ratios = [
        rate(one) / rate(tunnel[one.round])
        for one in readings
        if one.path == way(OURS, REQUESTS) and one.round in tunnel
    ]
    if ratios:
        yield Verdict(
            goal=f"{readings[0].load}: as requests at least half of as bytes",
            met=median(ratios) >= HALF,
            evidence=f"{median(ratios):.2f} of its rate",
        )


def _peers(one: Reading, readings: Sequence[Reading]) -> list[Reading]:
    return [
        other
        for other in readings
        if (other.round, other.load, kind(other.path)) == (one.round, one.load, kind(one.path))
        and who(other.path) not in NOT_PEERS
    ]


def _tables(found: Traffic) -> Iterator[Table]:
    for load in _loads(found.readings):
        yield _calls(load, [one for one in found.readings if one.load == load])


def _calls(load: str, readings: Sequence[Reading]) -> Table:
    direct = {one.round: one for one in readings if one.path == DIRECT}
    carries = bool(readings[0].carried)
    rows = []
    for path in dict.fromkeys(one.path for one in readings):
        each = [one for one in readings if one.path == path]
        beside = [one for one in each if path != DIRECT and one.round in direct]
        rows.append(
            (
                path,
                _spread(each, rate, 0),
                *((_spread(each, _gigabits, 2),) if carries else ()),
                _spread(each, lambda one: one.p50 * 1000, 2),
                _spread(each, lambda one: one.p99 * 1000, 2),
                _spread(each, lambda one: one.p999 * 1000, 2),
                _spread(beside, lambda one: (one.p50 - direct[one.round].p50) * 1000, 2),
                _spread(beside, lambda one: one.cpu / one.calls * 1e6, 0),
                *((_spread(beside, _cpu_per_gigabyte, 2),) if carries else ()),
            )
        )
    return Table(
        title=load.capitalize() if load[0].islower() else load,
        columns=(
            *("", "calls/s", *(("Gbit/s",) if carries else ()), "p50 ms", "p99 ms", "p99.9 ms"),
            *("p50 added", "CPU µs/call", *(("CPU s/GB",) if carries else ())),
        ),
        rows=tuple(rows),
        note=" ".join(_notes(load, readings)),
    )


def _notes(load: str, readings: Sequence[Reading]) -> Iterator[str]:
    if STEPS.get(load, 0) >= MANY:
        yield (
            "Calls/s and CPU are those of the second half of the load, when all connections are "
            "there; p50, p99 and p99.9 are those of all of it, their making included."
        )
    failed: Counter[str] = Counter()
    for one in readings:
        failed[one.path] += one.failed
    if failed.total():
        each = "; ".join(f"{path}: {count:,}" for path, count in failed.items() if count)
        yield f"Calls that failed, of which one in {ONE_IN:,} is let pass: {each}."
    else:
        yield "No call failed."


def _plots(found: Traffic, name: str) -> dict[str, Plot]:
    """Draw rates and tails against the number of connections, where there are several."""
    known = [one for one in found.readings if one.load in STEPS]
    if len({one.load for one in known}) < 2:
        return {}
    size = SHORT if known[0].load.startswith(f"{SHORT} ") else LONG
    plots = {}
    for how, word in ((BYTES, "bytes"), (REQUESTS, "requests")):
        each = [one for one in known if kind(one.path) in ("", how)]
        titled = f"answers of {size}, {how}"
        plots[f"{name}-{word}"] = _plot(each, f"Calls a second: {titled}", "calls/s", rate)
        plots[f"{name}-{word}-p99"] = _plot(each, f"p99 of calls: {titled}", "ms", _tail)
    return plots


def _plot(
    readings: Sequence[Reading], title: str, unit: str, figure: Callable[[Reading], float]
) -> Plot:
    lines = []
    paths = dict.fromkeys(one.path for one in readings)
    for path in sorted(paths, key=lambda path: who(path) != OURS):  # ours has one colour always
        at: dict[int, list[float]] = {}
        for one in readings:
            if one.path == path:
                at.setdefault(STEPS[one.load], []).append(figure(one))
        points = tuple((float(count), median(at[count])) for count in sorted(at))
        lines.append(Line(who(path), points, is_dashed=who(path) in NOT_PEERS - {OURS}))
    return Plot(title=title, x_label="connections", y_label=unit, lines=tuple(lines))


def rate(one: Reading) -> float:
    return one.calls / one.seconds


def _tail(one: Reading) -> float:
    return one.p99 * 1000


def _gigabits(one: Reading) -> float:
    return one.carried * 8 / one.seconds / 1e9


def _cpu_per_gigabyte(one: Reading) -> float:
    return one.cpu / one.carried * 1e9


def _loads(readings: Sequence[Reading]) -> list[str]:
    return list(dict.fromkeys(one.load for one in readings))


def _rounds(found: Traffic) -> int:
    return 1 + max((one.round for one in found.readings), default=0)


def _spread(each: Sequence[Reading], figure: Callable[[Reading], float], digits: int) -> str:
    return spread([figure(one) for one in each], digits) if each else ""
