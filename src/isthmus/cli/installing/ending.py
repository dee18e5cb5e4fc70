"""Waits for what is being deleted and is not gone yet.

A namespace ends when everything in it has, which takes seconds, or as long as somebody's finalizer
wants it; until then nothing can be made in it. The same goes for kinds and their objects.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from isthmus.cli.installing.leaving import LAST
from isthmus.cli.installing.removing import named
from isthmus.cli.progress import Progress
from isthmus.install import possible
from isthmus.kube.client import Client
from isthmus.kube.codec import key_of
from isthmus.kube.errors import Forbidden, NotFound
from isthmus.kube.plain import KINDS
from isthmus.model.errors import Transient
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock

PAUSE = 0.5  # seconds between two looks
LONGEST = 200  # characters of what a server says about it


class StillEnding(Transient):
    """Something was deleted, and has not gone in time. Says what holds it."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is waited for, in words, and what to raise if it takes too long."""

    text: str
    too_late: Transient


@dataclass(frozen=True, slots=True)
class Ending:
    """Waits, for ``patience`` seconds each time, and says what for."""

    client: Client
    clock: Clock
    progress: Progress
    patience: float

    async def until_gone(self, namespace: str) -> None:
        """Wait until neither the namespace nor a kind of ours is in the middle of its end."""
        ends_late = [one for one in possible(namespace) if one["kind"] in LAST]

        async def look() -> Left | None:
            found = await self._ending(ends_late)
            if not found:
                return None
            which = ", ".join(map(named, found))
            why = "; ".join(said for one in found for said in reasons(one))
            because = f": {why[:LONGEST]}" if why else ""
            too_late = StillEnding(
                f"{which}: deleted, and not gone after {self.patience:g} s{because}. "
                "It goes when that does; the same command goes on from here"
            )
            return Left(f"waiting until {which} is gone{because}", too_late)

        await self.until_nothing(look)

    async def until_nothing(self, look: Callable[[], Awaitable[Left | None]]) -> None:
        """Look again and again until nothing is left, and say meanwhile what is."""
        deadline = self.clock.now() + self.patience
        try:
            while left := await look():
                if self.clock.now() >= deadline:
                    raise left.too_late
                self.progress.waiting(left.text)
                await self.clock.sleep(PAUSE)
        finally:
            self.progress.clear()

    async def _ending(self, candidates: Sequence[JsonObject]) -> list[JsonObject]:
        found = []
        for one in candidates:
            try:
                now = await self.client.get(KINDS[one["kind"]], key_of(one))
            except (NotFound, Forbidden):
                continue  # whoever may not look is told of all rights that are missing, later
            if "deletionTimestamp" in now["metadata"]:
                found.append({**now, "kind": one["kind"]})
        return found


def reasons(obj: JsonObject) -> Iterator[str]:
    """Yield what the server says that an object waits for before it goes."""
    for one in obj.get("status", {}).get("conditions") or ():
        is_about_it = one["type"].startswith("Namespace") or one["type"] == "Terminating"
        if is_about_it and one["status"] == "True" and one.get("message"):
            yield one["message"]
