"""One step on the way of a call, and what came of it."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "broken", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the way. ``reason`` is one word for machines, ``fix`` what to do."""

    name: str
    outcome: Outcome
    detail: str = ""
    reason: str = ""
    fix: str = ""


def ok(name: str, detail: str = "") -> Step:
    return Step(name=name, outcome="ok", detail=detail)


def unknown(name: str, why: str) -> Step:
    return Step(name=name, outcome="unknown", detail=why)


def broken(name: str, reason: str, detail: str, fix: str) -> Step:
    return Step(name=name, outcome="broken", reason=reason, detail=detail, fix=fix)
