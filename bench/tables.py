"""From figures to tables: pure, so that the document can be made again from a recorded run."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import TypeVar

from bench.lineup import OURS
from bench.meter import Import, Listing, Watching
from bench.results import Results

R = TypeVar("R", Listing, Watching, Import)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title and rows of text; the first column is a name, the others are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""  # what a reader has to know before the figures


def middle(each: Sequence[R]) -> R:
    """Return the median of every figure, as if it were one measurement."""
    return type(each[0])(
        **{
            field.name: median(getattr(one, field.name) for one in each)
            for field in dataclasses.fields(each[0])
        }
    )


def listings(results: Results) -> Table:
    found = results.listings
    ours = _ours(found)
    rows = []
    for name, each in found.items():
        one = middle(each)
        rows.append(
            (
                name,
                spread([reading.wall for reading in each], 2),
                spread([reading.cpu for reading in each], 2),
                _ratio(one.cpu, ours.cpu if ours else None),
                spread([reading.peak for reading in each], 0),
                _ratio(one.peak, ours.peak if ours else None),
                spread([reading.kept for reading in each], 0),
                f"{(one.kept - one.base) * 1000 / one.count:.2f}",
            )
        )
    return Table(
        title=f"List and decode {results.objects:,} Services + {results.objects:,} EndpointSlices",
        columns=(
            "",
            "wall s",
            "CPU s",
            "÷ ours",
            "peak RSS MB",
            "÷ ours",
            "kept RSS MB",
            "KB/object",
        ),
        rows=tuple(rows),
    )


def watches(results: Results) -> Table:
    found = results.watches
    ours = _ours(found)
    return Table(
        title=f"Watch: {results.events:,} updates of Services, replayed",
        columns=("", "events/s", "CPU µs/event", "÷ ours"),
        rows=tuple(
            (
                name,
                spread([reading.count / reading.wall for reading in each], 0),
                spread([reading.cpu / reading.count * 1e6 for reading in each], 0),
                _ratio(middle(each).cpu, ours.cpu if ours else None),
            )
            for name, each in found.items()
        ),
    )


def imports(results: Results) -> Table:
    return Table(
        title="Start: import in a fresh interpreter, and the command's own help",
        columns=("", "ms", "RSS MB"),
        rows=tuple(
            (
                name,
                spread([reading.wall * 1000 for reading in each], 0),
                f"{middle(each).resident:.0f}" if each[0].resident else "",
            )
            for name, each in results.imports.items()
        ),
    )


def spread(figures: Sequence[float], digits: int) -> str:
    """Write the median, and between which figures it lies."""
    low, high = f"{min(figures):,.{digits}f}", f"{max(figures):,.{digits}f}"
    between = "" if low == high else f" ({low} … {high})"
    return f"{median(figures):,.{digits}f}{between}"


def percentile(figures: Sequence[float], share: float) -> float:
    """Return the smallest figure that ``share`` of all do not exceed."""
    return sorted(figures)[ceil(share * len(figures)) - 1]


def _ours(found: Mapping[str, Sequence[R]]) -> R | None:
    return middle(found[OURS]) if OURS in found else None


def _ratio(figure: float, ours: float | None) -> str:
    return f"{figure / ours:.1f}" if ours else ""
