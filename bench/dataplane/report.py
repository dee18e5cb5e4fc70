"""From figures to tables and verdicts: pure, so that a recorded run can be written down again."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import TypeVar

from bench import document
from bench.dataplane.figures import Change, Dataplane, Reading, Scale
from bench.dataplane.ways import DIRECT, FLOOR, OURS, kind, who
from bench.tables import Table, spread
from bench.verdicts import Verdict

R = TypeVar("R", Scale, Reading)
LEVEL = 0.95  # of the best pair's figure is level with it: no run tells less apart


def terminal(found: Dataplane) -> str:
    """Return everything a run has found, aligned for a fixed-width font."""
    parts = [document.aligned(table) for table in _tables(found)]
    return "\n\n".join([*parts, "\n".join(_remarks(found))]) + "\n"


def markdown(found: Dataplane) -> str:
    """Return the same for the document."""
    machine = found.machine
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    head = (
        f"Measured on {found.date}: {machine.cores} cores, {machine.memory_gb} GB, "
        f"Python {machine.python}, {versions}; median of {_rounds(found)} interleaved rounds "
        f"(lowest … highest); load average before it {found.load:.1f}."
    )
    parts = [head, *(document.piped(table) for table in _tables(found))]
    return "\n\n".join([*parts, "\n".join(f"- {remark}" for remark in _remarks(found))])


def verdicts(found: Dataplane) -> list[Verdict]:
    """Judge every goal."""
    judged = []
    changes = [change for scale in found.scales for change in scale.changes]
    if changes:
        extra = max(change.sent - change.own for change in changes)
        goal = "one change sends nothing but what it changes"
        judged.append(_verdict(goal, extra <= 0, f"{max(extra, 0)} resources too many"))
    for load in _loads(found.readings):
        judged += _beside_peers([one for one in found.readings if one.load == load])
    return judged


def _beside_peers(readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Compare with the best pair of each round, bytes with bytes and requests with requests."""
    for ours in dict.fromkeys(one.path for one in readings if who(one.path) == OURS):
        ratios = [
            _rate(one) / max(map(_rate, peers))
            for one in readings
            if one.path == ours and (peers := _peers(one, readings))
        ]
        if ratios:
            goal = f"{kind(ours)}, {readings[0].load}: level with the best pair"
            yield _verdict(goal, median(ratios) >= LEVEL, f"{median(ratios):.2f} of its rate")


def _peers(one: Reading, readings: Sequence[Reading]) -> list[Reading]:
    return [
        other
        for other in readings
        if (other.round, other.load, kind(other.path)) == (one.round, one.load, kind(one.path))
        and who(other.path) not in (OURS, DIRECT, FLOOR)
    ]


def _tables(found: Dataplane) -> list[Table]:
    tables = [_scale(found.scales), _changes(found.scales)] if found.scales else []
    for load in _loads(found.readings):
        readings = [one for one in found.readings if one.load == load]
        tables.append(_amounts(load, readings) if readings[0].carried else _calls(load, readings))
    return tables


def _scale(scales: Sequence[Scale]) -> Table:
    rows = []
    for role in dict.fromkeys(one.role for one in scales):
        each = [one for one in scales if one.role == role]
        rows.append(
            (
                role,
                _spread(each, lambda one: one.build.wall, 2),
                _spread(each, lambda one: one.deliver.wall, 2),
                _spread(each, lambda one: one.build.ours + one.deliver.ours, 2),
                _spread(each, lambda one: one.deliver.envoy, 2),
                _spread(each, lambda one: one.ours, 0),
                _spread(each, lambda one: (one.ours - one.ours_before) * 1000 / one.ports, 1),
                _spread(each, lambda one: one.envoy, 0),
                _spread(each, lambda one: (one.envoy - one.envoy_before) * 1000 / one.ports, 1),
            )
        )
    return Table(
        title=f"{scales[0].ports:,} ports on one proxy, half bytes, half requests",
        columns=(
            *("", "build s", "delivered s", "CPU s", "Envoy's CPU s"),
            *("RSS MB", "KB/port", "Envoy's RSS MB", "KB/port"),
        ),
        rows=tuple(rows),
    )


def _changes(scales: Sequence[Scale]) -> Table:
    found: dict[tuple[str, str], list[Change]] = {}
    for scale in scales:
        for change in scale.changes:
            found.setdefault((scale.role, change.what), []).append(change)
    return Table(
        title=f"One change among {scales[0].ports:,} ports, from its making until acknowledged",
        columns=("", "samples", "resources sent", "ms, p50", "highest"),
        rows=tuple(
            (
                f"{role}: {what}",
                str(len(each)),
                "…".join(str(n) for n in sorted({one.sent for one in each})),
                f"{median(one.wall for one in each) * 1000:.1f}",
                f"{max(one.wall for one in each) * 1000:.1f}",
            )
            for (role, what), each in found.items()
        ),
    )


def _calls(load: str, readings: Sequence[Reading]) -> Table:
    direct = {one.round: one for one in readings if one.path == DIRECT}
    rows = []
    for path in dict.fromkeys(one.path for one in readings):
        each = [one for one in readings if one.path == path]
        beside = [one for one in each if path != DIRECT and one.round in direct]
        rows.append(
            (
                path,
                _spread(each, _rate, 0),
                _spread(each, lambda one: one.p50 * 1000, 2),
                _spread(each, lambda one: one.p99 * 1000, 2),
                _spread(beside, lambda one: (one.p50 - direct[one.round].p50) * 1000, 2),
                _spread(beside, lambda one: (one.p99 - direct[one.round].p99) * 1000, 2),
                _spread(beside, lambda one: one.cpu / one.calls * 1e6, 0),
            )
        )
    return Table(
        title=load.capitalize(),
        columns=("", "calls/s", "p50 ms", "p99 ms", "p50 added", "p99 added", "CPU µs/call"),
        rows=tuple(rows),
    )


def _amounts(load: str, readings: Sequence[Reading]) -> Table:
    rows = []
    for path in dict.fromkeys(one.path for one in readings):
        each = [one for one in readings if one.path == path]
        carrying = [one for one in each if path != DIRECT]
        rows.append(
            (
                path,
                _spread(each, lambda one: one.carried * 8 / one.seconds / 1e9, 2),
                _spread(carrying, lambda one: one.cpu / one.carried * 1e9, 2),
            )
        )
    return Table(title=load.capitalize(), columns=("", "Gbit/s", "CPU s/GB"), rows=tuple(rows))


def _remarks(found: Dataplane) -> list[str]:
    remarks = [str(verdict) for verdict in verdicts(found)]
    return remarks + [f"not measured: {what}: {why}" for what, why in found.missing.items()]


def _loads(readings: Sequence[Reading]) -> list[str]:
    return list(dict.fromkeys(one.load for one in readings))


def _rounds(found: Dataplane) -> int:
    return 1 + max((one.round for one in found.readings), default=0)


def _rate(one: Reading) -> float:
    return one.calls / one.seconds


def _spread(each: Sequence[R], figure: Callable[[R], float], digits: int) -> str:
    return spread([figure(one) for one in each], digits) if each else ""


def _verdict(goal: str, met: bool, evidence: str) -> Verdict:
    return Verdict(goal=goal, met=met, evidence=evidence)
