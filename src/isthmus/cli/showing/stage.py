"""Where the demo's story happens: commands are typed, shown with their answers, and checked."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from isthmus.model.errors import Permanent

PATIENCE = 120.0  # seconds until what should happen must have happened
GLANCE = 0.1  # seconds between two looks at it

Holds: TypeAlias = Callable[[str], bool]


class DoesNotHold(Permanent):
    """A step of the story has another outcome than the one that is told."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a line of commands has printed, and the code that the last of them ended with."""

    text: str
    code: int = 0


class Teller(Protocol):
    """Where the story is told."""

    def say(self, text: str = "") -> None: ...

    def chapter(self, text: str) -> None: ...

    def typed(self, line: str) -> None: ...


class Shell(Protocol):
    """Where commands are typed."""

    async def run(self, line: str) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the story is told, and where it happens."""

    page: Teller
    shell: Shell

    async def do(self, line: str, *expected: str) -> None:
        """Type a command, once; it succeeds, and its answer has all of the ``expected`` in it."""
        self.page.typed(line)
        outcome = await self.shell.run(line)
        self._show(outcome)
        if outcome.code:
            raise DoesNotHold(f"{line}: it has ended with {outcome.code}")
        for one in expected:
            if one not in outcome.text:
                raise DoesNotHold(f"{line}: it should say {one!r}")

    async def see(self, line: str, holds: Holds) -> None:
        """Type a command that only asks, and show its answer as soon as it ``holds``."""
        self.page.typed(line)
        clock = asyncio.get_running_loop().time
        deadline = clock() + PATIENCE
        outcome = await self.shell.run(line)
        while not holds(outcome.text) and clock() < deadline:
            await asyncio.sleep(GLANCE)
            outcome = await self.shell.run(line)
        self._show(outcome)
        if not holds(outcome.text):
            raise DoesNotHold(
                f"{line}: not what it should be after {PATIENCE:g} s; `isthmus -v demo` shows what "
                "controllers and proxies say"
            )

    def _show(self, outcome: Outcome) -> None:
        if outcome.text:
            self.page.say(outcome.text)
        self.page.say()
