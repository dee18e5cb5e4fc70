"""How long most calls took, from how many took at most so long. Pure.

A histogram does not know the values, only how many lie below each bound; between two bounds they
are taken to be spread evenly, as Prometheus does it.
"""

from collections.abc import Mapping
from math import inf


def quantile(share: float, below: Mapping[float, float]) -> float | None:
    """Return the value that a ``share`` (0 to 1) of all values does not exceed.

    ``below`` has, by bound, how many values are not larger; one of the bounds is infinite. None if
    there are no values. Beyond the last finite bound nothing is known, so that it is that bound.
    """
    bounds = sorted(below)
    total = max(below.values(), default=0.0)
    if total <= 0:
        return None
    wanted = share * total
    lower, counted = 0.0, 0.0
    for bound in bounds:
        # Two readings that a restart lies between may not add up; a count never falls.
        reached = max(counted, below[bound])
        if reached >= wanted and reached > counted:
            if bound == inf:
                return lower
            return lower + (bound - lower) * (wanted - counted) / (reached - counted)
        counted = reached
        lower = bound if bound != inf else lower
    return lower
