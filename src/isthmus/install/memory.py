"""What was chosen about an installation, kept in it, so that the next one can start from there.

Only what is not by default is kept: a newer version brings its own defaults, its image above all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from isthmus.install import documents, keys
from isthmus.install.parts import inside
from isthmus.install.values import Values
from isthmus.model.names import CONTROLLER, VALUES
from isthmus.model.wire import Json, JsonObject

KEPT = "values.json"  # of the ConfigMap's data
# What a cluster trusts and signs with has objects of its own, and where this one is says the rest.
ELSEWHERE = ("namespace", "trust")


@dataclass(frozen=True, slots=True)
class Difference:
    """Keys that are as they were chosen before, and keys that are now something else."""

    kept: Mapping[str, Json] = field(default_factory=dict)
    changed: Mapping[str, tuple[Json, Json]] = field(default_factory=dict)  # before, and now


def memory(values: Values) -> JsonObject:
    """The ConfigMap that says what was chosen."""
    found = {k: v for k, v in documents.chosen(values).items() if k not in ELSEWHERE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": inside(values, VALUES, of=CONTROLLER),
        "data": {KEPT: msgspec.json.encode(found, order="sorted").decode()},
    }


def compared(before: Values, now: Values) -> Difference:
    """Tell what an installation that was made with ``before`` keeps, and what it changes."""
    was, will = msgspec.to_builtins(before), msgspec.to_builtins(now)
    kept: dict[str, Json] = {}
    changed: dict[str, tuple[Json, Json]] = {}
    for one in keys.entries(Values):
        if one.path.partition(".")[0] in (*ELSEWHERE, "clusterName"):  # it stays what it is
            continue
        old, new = documents.at(was, one.path), documents.at(will, one.path)
        if old != new:
            changed[one.path] = old, new
        elif old != one.plain_default:
            kept[one.path] = old
    return Difference(kept, changed)
