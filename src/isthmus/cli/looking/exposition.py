"""Reads what Prometheus reads: numbers with names and labels, as text. Pure."""

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line

BOUND = "le"  # the label of a histogram's buckets, which is a number, too
_LONGEST = 120


class NotNumbers(Permanent):
    """A page that is not what Prometheus reads."""


class Series(NamedTuple):
    """What is counted, and of what; the labels are sorted."""

    name: str
    labels: tuple[tuple[str, str], ...]

    def label(self, name: str) -> str:
        """Return what a label says; nothing if there is none."""
        return next((value for key, value in self.labels if key == name), "")


Numbers: TypeAlias = Mapping[Series, float]


def numbers(text: str, names: tuple[str, ...]) -> Numbers:
    """Return all numbers of ``text`` whose names begin with one of ``names``.

    A proxy with thousands of ports has a lot to tell: what nobody asked for is not even parsed.
    """
    lines = [line for line in text.splitlines() if line.startswith(names)]
    try:
        return {
            Series(one.name, tuple(sorted(one.labels.items()))): one.value
            for family in text_string_to_metric_families("\n".join([*lines, ""]))
            for one in family.samples
            if isfinite(one.value) and float(one.labels.get(BOUND, 0)) >= 0
        }
    except (ValueError, OverflowError) as error:
        said = one_line(str(error), _LONGEST)
        raise NotNumbers(f"the page does not hold numbers ({said})") from error
