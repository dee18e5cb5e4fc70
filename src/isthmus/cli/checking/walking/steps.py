"""One step on the way of a call, and what came of it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Outcome = Literal["ok", "broken", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the way. ``reason`` is one word for machines; ``fix`` is what to type, ``hint``
    what to know or to look at."""

    name: str
    outcome: Outcome
    detail: str = ""
    reason: str = ""
    fix: str = ""
    hint: str = ""


class Fix(NamedTuple):
    """A command that can be typed as it stands, and mends it; ``note`` is what to know of it."""

    command: str
    note: str = ""


def ok(name: str, detail: str = "") -> Step:
    return Step(name=name, outcome="ok", detail=detail)


def unknown(name: str, why: str) -> Step:
    return Step(name=name, outcome="unknown", detail=why)


def broken(name: str, reason: str, detail: str, way: Fix | str) -> Step:
    """Return a step that is broken, with the way out: a command, or else words."""
    fix = way if isinstance(way, Fix) else Fix("", way)
    return Step(
        name=name,
        outcome="broken",
        reason=reason,
        detail=detail,
        fix=fix.command,
        hint=fix.note,
    )
