"""A process that can be killed wherever it waits for a cluster, as kill -9 would do it.

All that a process of ours leaves behind is what it has written into clusters. Its requests are
counted where they leave it; at one of them it dies: nothing that it does afterwards reaches
anybody, be it a last word of a handler that cleans up.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeVar

from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request, Response, Transport
from tests.support.transports import aim

T = TypeVar("T")

# Every request instead of every write: slower by far, for `make crash`.
FULLY = os.environ.get("ISTHMUS_CRASH") == "all"
OVERTAKEN = 3.0  # seconds for which others go on while one request is stuck


class Fate(Enum):
    """What becomes of the request at which a process dies."""

    UNSENT = "is not sent"
    UNANSWERED = "takes effect, and nobody sees the answer"
    STUCK = "is stuck while others take effect"


class Moment(NamedTuple):
    """When a process dies."""

    number: int  # of the request
    fate: Fate
    request: str = ""

    def __str__(self) -> str:
        return f"killed at request {self.number} ({self.request}), which {self.fate.value}"


class Asked(NamedTuple):
    """A request that was made."""

    method: str
    path: str
    is_write: bool

    @property
    def is_lease(self) -> bool:
        return "/leases" in self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Life:
    """One process, from its start to its death; it lives for ever if there is no ``end``."""

    end: Moment | None = None
    asked: list[Asked] = field(default_factory=list)
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def around(self, inner: Transport) -> Transport:
        """A way to a cluster that ends with this life."""
        return _Mortal(inner, self)

    @property
    def writes(self) -> list[Asked]:
        """All but those of leases."""
        return [one for one in self.asked if one.is_write and not one.is_lease]

    def moments(self, *, many_at_once: bool, fully: bool = FULLY) -> Iterator[Moment]:
        """Yield when others like this one are to die.

        In between two writes it makes no difference to anybody when that is: a process that is
        killed there leaves what it has written so far. Whoever wants to see that may ask for all;
        one who asks the same again, having written nothing since, is killed at the first time only.
        One request can be stuck while others go on only where there are ``many_at_once``.
        """
        first, since = True, set[Asked]()
        for number, one in enumerate(self.asked):
            changes = one.is_write and not (one.is_lease and one.method == "PUT")
            if not changes and (not fully or one in since):
                continue
            since = set() if changes else since | {one}
            fates = list(Fate) if many_at_once else [Fate.UNSENT, Fate.UNANSWERED]
            for fate in fates if fully or first else fates[1:]:
                yield Moment(number, fate, str(one))
            first = first and not changes

    def is_due(self, number: int, *fates: Fate) -> bool:
        return self.end is not None and self.end.number == number and self.end.fate in fates

    async def ends(self, within: float) -> bool:
        """Wait for the death; return False if there was none in that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.died.wait()
        return self.died.is_set()

    async def lives(self, work: Coroutine[object, object, T]) -> T | None:
        """Let ``work`` be done, as far as this life goes; return None if it ends before."""
        doing, dying = asyncio.create_task(work), asyncio.create_task(self.died.wait())
        await asyncio.wait({doing, dying}, return_when=asyncio.FIRST_COMPLETED)
        for task in (doing, dying):
            task.cancel()
        await asyncio.wait({doing, dying})
        return None if self.died.is_set() else doing.result()

    async def die(self) -> None:
        self.died.set()
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class _Mortal:
    inner: Transport
    life: Life

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if self.life.died.is_set():
            raise Unreachable("the process is gone")
        return self._sent(request)

    @asynccontextmanager
    async def _sent(self, request: Request) -> AsyncIterator[Response]:
        life = self.life
        number = len(life.asked)
        life.asked.append(Asked(request.method, aim(request), _writes(request)))
        if life.is_due(number, Fate.UNSENT):
            await life.die()
        if life.is_due(number, Fate.STUCK):
            await asyncio.sleep(OVERTAKEN)
            await life.die()
        async with self.inner.send(request) as response:
            if life.is_due(number, Fate.UNANSWERED):
                await life.die()
            yield response

    async def close(self) -> None:
        await self.inner.close()


def _writes(request: Request) -> bool:
    rehearsed = ("dryRun", "All") in request.query
    return request.method != "GET" and not rehearsed and "reviews" not in request.path
