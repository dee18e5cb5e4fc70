"""From figures to tables and verdicts: pure, so that a recorded run can be written down again."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median

from bench import document
from bench.mirroring.figures import Changes, Mirroring, Size, Sync
from bench.tables import Table, spread
from bench.verdicts import Verdict

FLOOR_SHARE = 0.90
SERVER_SHARE = 1.2  # of the API server's processor time for the same writes
# Of the service mirror of Linkerd, measured by us earlier on a machine of the same kind: its
# client is limited to five requests a second, of which a Service takes three.
LINKERD_RATE = 1.67  # Services a second, at any size
LINKERD_MEMORY = 92.0  # MB with 1,000 mirrors
LINKERD_AT = 1000
LINKERD_TIMES = 50


def terminal(found: Mirroring) -> str:
    """Return everything a run has found, aligned for a fixed-width font."""
    parts = [document.aligned(table) for table in _tables(found)]
    return "\n\n".join([*parts, "\n".join(_remarks(found))]) + "\n"


def markdown(found: Mirroring) -> str:
    """Return the same for the document."""
    machine = found.machine
    loads = [one.load for size in found.sizes for one in size.rounds]
    head = (
        f"Measured on {found.date}: {machine.cores} cores, {machine.memory_gb} GB, "
        f"Python {machine.python}, kube-apiserver {machine.kubernetes}, etcd {machine.etcd}; "
        f"median of {len(found.sizes[0].rounds)} interleaved rounds (lowest … highest); "
        f"load average {min(loads):.1f} … {max(loads):.1f}."
    )
    parts = [head, *(document.piped(table) for table in _tables(found))]
    return "\n\n".join([*parts, "\n".join(f"- {remark}" for remark in _remarks(found))])


def percentile(figures: Sequence[float], share: float) -> float:
    """Return the smallest figure that ``share`` of all do not exceed."""
    return sorted(figures)[ceil(share * len(figures)) - 1]


def verdicts(found: Mirroring) -> list[Verdict]:
    """Judge every goal."""
    judged = [verdict for size in found.sizes for verdict in _of_size(size)]
    judged += [
        verdict
        for size in found.sizes
        if size.services == LINKERD_AT
        for verdict in _beside_linkerd(size)
    ]
    restart = found.restart
    judged.append(_verdict("a restart writes nothing", not restart.writes, _listed(restart.writes)))
    extra = {name: n for name, n in restart.idle_requests.items() if not name.endswith(" leases")}
    goal = f"{restart.idle:.0f} idle seconds without a request, the lease's apart"
    judged.append(_verdict(goal, not extra, _listed(extra)))
    return judged


def _of_size(size: Size) -> list[Verdict]:
    named = f"{size.services:,} Services"
    writing = [one.writing_ratio for one in size.rounds]
    cold = [one.cold_ratio for one in size.rounds]
    servers = [one.ours.server_cpu / one.floor.server_cpu for one in size.rounds]
    return [
        _verdict(
            f"{named} from a cold start at ≥ {FLOOR_SHARE:.0%} of the floor's rate",
            median(cold) >= FLOOR_SHARE,
            f"{median(cold):.0%}",
        ),
        _verdict(
            f"{named} from the first write on at ≥ {FLOOR_SHARE:.0%} of it",
            median(writing) >= FLOOR_SHARE,
            f"{median(writing):.0%}",
        ),
        _verdict(
            f"{named}: the API server's CPU ≤ {SERVER_SHARE} times the floor's",
            median(servers) <= SERVER_SHARE,
            f"{median(servers):.2f}",
        ),
    ]


def _beside_linkerd(size: Size) -> list[Verdict]:
    """Compare at the one size at which Linkerd's mirror was measured."""
    times = size.services / median(one.ours.wall for one in size.rounds) / LINKERD_RATE
    kept = median(one.ours.kept for one in size.rounds)
    named = f"{LINKERD_AT:,} Services"
    return [
        _verdict(
            f"{named} ≥ {LINKERD_TIMES} times as fast as Linkerd's {LINKERD_RATE}/s",
            times >= LINKERD_TIMES,
            f"{times:.0f}",
        ),
        _verdict(
            f"memory with {named} ≤ Linkerd's {LINKERD_MEMORY:.0f} MB",
            kept <= LINKERD_MEMORY,
            f"{kept:.0f} MB",
        ),
    ]


def _tables(found: Mirroring) -> Sequence[Table]:
    return (
        *(_cold(size, found.empty) for size in found.sizes),
        _changes(found),
        _restart(found),
    )


def _cold(size: Size, empty: float) -> Table:
    ours = [one.ours for one in size.rounds]
    floor = [one.floor for one in size.rounds]
    kept = median(one.kept for one in ours)
    return Table(
        title=f"{size.services:,} exported Services, from a cold start to all mirrored",
        columns=(
            *("", "wall s", "of it before the first write", "Services/s", "CPU s"),
            *("API server's CPU s", "RSS MB", "peak", "MB per 1,000"),
        ),
        rows=(
            (
                "isthmus controller",
                spread([one.wall for one in ours], 2),
                spread([one.leading for one in ours], 2),
                *_costs(ours, size.services),
                spread([one.kept for one in ours], 0),
                spread([one.peak for one in ours], 0),
                f"{(kept - empty) / size.services * 1000:.1f}",
            ),
            (
                "floor: the same writes, bare",
                spread([one.wall for one in floor], 2),
                spread([one.leading for one in floor], 2),
                *(*_costs(floor, size.services), "", "", ""),
            ),
            (
                "floor ÷ ours",
                spread([one.cold_ratio for one in size.rounds], 2),
                f"{spread([one.writing_ratio for one in size.rounds], 2)} without it",
                *("", "", "", "", "", ""),
            ),
            *_linkerd(size.services),
        ),
    )


def _linkerd(services: int) -> tuple[tuple[str, ...], ...]:
    if services != LINKERD_AT:
        return ()
    rate = f"{LINKERD_RATE:.2f}"
    wall = f"about {services / LINKERD_RATE:.0f}"
    memory = f"{LINKERD_MEMORY:.0f}"
    return (("Linkerd's mirror, measured earlier", wall, "", rate, "", "", memory, "", ""),)


def _costs(each: Sequence[Sync], services: int) -> tuple[str, str, str]:
    return (
        spread([services / one.wall for one in each], 0),
        spread([one.cpu for one in each], 2),
        spread([one.server_cpu for one in each], 1),
    )


def _changes(found: Mirroring) -> Table:
    first, last = found.sizes[0].services, found.sizes[-1].services
    rows = []
    for when, changes in ((f"{first:,} mirrors, idle", found.idle), _during(last, found.busy)):
        for who, figures in (("isthmus", changes.ours), ("floor", changes.floor)):
            if figures:
                shares = (percentile(figures, share) * 1000 for share in (0.5, 0.9, 0.99, 1.0))
                cells = (f"{figure:.1f}" for figure in shares)
                rows.append((f"{when}: {who}", str(len(figures)), *cells))
    return Table(
        title="One change in the target until its mirror is seen to change, in ms",
        columns=("", "samples", "p50", "p90", "p99", "highest"),
        rows=tuple(rows),
    )


def _during(services: int, changes: Changes) -> tuple[str, Changes]:
    return f"while {services:,} are mirrored", changes


def _restart(found: Mirroring) -> Table:
    restart = found.restart
    return Table(
        title=f"Restart with {found.sizes[0].services:,} mirrors in place, and rest",
        columns=("", "figure"),
        rows=(
            ("from start to ready, s", f"{restart.ready:.2f}"),
            ("to leading, connected and nothing left to plan, s", f"{restart.settled:.2f}"),
            ("writes, leases apart", _listed(restart.writes)),
            (f"requests in {restart.idle:.0f} idle s", _listed(restart.idle_requests)),
            (f"CPU s in {restart.idle:.0f} idle s", f"{restart.idle_cpu:.2f}"),
            ("RSS of a controller with nothing to mirror, MB", f"{found.empty:.0f}"),
        ),
    )


def _remarks(found: Mirroring) -> list[str]:
    return [str(verdict) for verdict in verdicts(found)]


def _verdict(goal: str, met: bool, evidence: str) -> Verdict:
    return Verdict(goal=goal, met=met, evidence=evidence)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"
