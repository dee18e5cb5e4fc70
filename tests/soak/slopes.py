"""Tells growth from noise: the slope of a line through what was measured after the warm-up."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

WARM_UP = 0.25  # of the samples: caches fill, and the allocator learns how much is needed
SURE = 4.0  # standard errors by which a slope must differ from none


class TooFew(ValueError):
    """A line can be laid through anything, and would say nothing."""


@dataclass(frozen=True, slots=True)
class Slope:
    """How something grows with every restart, and how far that may be chance."""

    first: float
    last: float
    least: float
    most: float
    each: float  # per restart
    error: float  # of that

    @property
    def per_thousand(self) -> float:
        return 1000 * self.each

    def is_leak(self, allowed: float) -> bool:
        """Tell whether a thousand restarts cost more than ``allowed``, and not by chance."""
        return self.per_thousand > allowed and self.each > SURE * self.error

    def is_blind(self, allowed: float) -> bool:
        """Tell whether growth by ``allowed`` could have been chance: then none was ruled out."""
        return self.unseen > allowed

    @property
    def unseen(self) -> float:
        """How much a thousand restarts may cost before it shows."""
        return 1000 * SURE * self.error


def slope(samples: Sequence[tuple[float, float]]) -> Slope:
    """Fit a line to (restarts, value); at least a handful are needed after the warm-up."""
    kept = samples[int(len(samples) * WARM_UP) :]
    if len(kept) < 5:
        raise TooFew(f"{len(samples)} samples are too few to tell growth from noise")
    count = len(kept)
    mean_x, mean_y = (sum(each) / count for each in zip(*kept, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in kept)
    each = sum((x - mean_x) * (y - mean_y) for x, y in kept) / spread
    rest = sum((y - mean_y - each * (x - mean_x)) ** 2 for x, y in kept)
    values = [y for _, y in kept]
    return Slope(
        values[0], values[-1], min(values), max(values), each, sqrt(rest / (count - 2) / spread)
    )
