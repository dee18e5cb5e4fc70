"""One thing that was checked, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked. ``detail`` is what was found, or the cause of a failure."""

    group: str
    name: str
    outcome: Outcome = "ok"
    detail: str = ""
    hint: str = ""


def failed(found: Sequence[Check]) -> bool:
    return any(check.outcome == "error" for check in found)


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of something: ``1 mirror``, ``2 mirrors``."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def passed(group: str, name: str, detail: str = "") -> Check:
    return Check(group=group, name=name, detail=detail)


def warned(group: str, name: str, detail: str, hint: str) -> Check:
    return Check(group=group, name=name, outcome="warning", detail=detail, hint=hint)


def wrong(group: str, name: str, detail: str, hint: str) -> Check:
    return Check(group=group, name=name, outcome="error", detail=detail, hint=hint)
