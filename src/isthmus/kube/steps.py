"""What a reflector may ask for next, as values: the words between it and the loop that obeys it."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class List:
    """Read the whole list and report it by ``listed``."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Compare the whole list with what we have, and report the result by ``audited``."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Watch from nothing: the initial state comes first, as events."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Watch:
    version: str
    seconds: int


Step: TypeAlias = Wait | List | Audit | Stream | Watch
