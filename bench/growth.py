"""How a cost grows with size: the exponent that fits it best, and whether it is one too many."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import Literal

from bench.tables import Table
from bench.verdicts import Verdict

WORST = 1.1  # the exponent of what should be linear, at most: noise bends a line by so much
Shape = Literal["linear", "constant", "the server's"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One figure at several sizes, without what it is at none; and how it should grow."""

    what: str
    by: str  # what the sizes count
    unit: str
    points: tuple[tuple[float, float], ...]
    should_be: Shape = "linear"

    @property
    def exponent(self) -> float | None:
        """Return the exponent that fits; None where there is nothing to fit."""
        return None if (found := fit(self.points)) is None else found[1]


def fit(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return ``factor`` and ``exponent`` of the ``factor * size ** exponent`` that is nearest.

    Nearest by the squares of the differences of logarithms, so that each size weighs the same.
    What is not above zero has no logarithm, and with one size there is nothing to compare.
    """
    known = [(log(size), log(figure)) for size, figure in points if size > 0 and figure > 0]
    if len({size for size, _ in known}) < 2:
        return None
    middle, height = fmean(x for x, _ in known), fmean(y for _, y in known)
    slope = sum((x - middle) * (y - height) for x, y in known) / sum(
        (x - middle) ** 2 for x, _ in known
    )
    return exp(height - slope * middle), slope


def table(growths: Sequence[Growth]) -> Table:
    """Put all of them side by side."""
    rows = []
    for one in growths:
        exponent = one.exponent
        rows.append(
            (
                one.what,
                "; ".join(f"{size:,.0f}: {_short(figure)}" for size, figure in one.points),
                one.unit,
                one.by,
                "" if exponent is None else f"n^{exponent:.2f}",
                one.should_be,
            )
        )
    return Table(
        title="How it grows",
        columns=("", "at each size", "unit", "n counts", "grows as", "should be"),
        rows=tuple(rows),
    )


def verdict(growths: Sequence[Growth]) -> Verdict | None:
    """Judge all that should be linear by the worst of it; None if nothing can be judged."""
    known = [
        (exponent, f"{one.what} by {one.by}")
        for one in growths
        if one.should_be == "linear" and (exponent := one.exponent) is not None
    ]
    if not known:
        return None
    worst, what = max(known)
    return Verdict(
        goal=f"nothing that should be linear grows faster than n^{WORST}",
        met=worst <= WORST,
        evidence=f"of {len(known)}, the steepest is {what} with n^{worst:.2f}",
    )


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
