"""Things that go wrong between an API server and its clients, on purpose and on demand.

Both fronts call :meth:`Faults.handle` instead of the API. A rule picks requests and says what
happens to them; an effect gets the request and the way on, and may wait, answer by itself, or
change the answer. Nothing is random: a simulation brings its own dice.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.state.store import Snapshot, Store
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request


class Serve(Protocol):
    """The way on: the next effect, or the API itself."""

    def __call__(self, request: Request, as_of: int | None = None) -> Awaitable[Answer]: ...


Effect = Callable[[Request, Serve], Awaitable[Answer]]
Matches = Callable[[Request], bool]


def everything(_request: Request) -> bool:
    return True


@dataclass(slots=True)
class Rule:
    """``effect`` happens to requests that match, ``times`` times or for ever."""

    effect: Effect
    matches: Matches = everything
    times: int | None = None

    def takes(self, request: Request) -> bool:
        if self.times == 0 or not self.matches(request):
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Faults:
    """The boundary of one embedded cluster."""

    def __init__(self, serve: Serve, store: Store) -> None:
        self._serve = serve
        self._store = store
        self._rules: list[Rule] = []
        self._stopped = False
        self._connections = asyncio.Event()  # set, and replaced, when all of them break
        self.on_disconnect: set[Callable[[], None]] = set()  # for fronts with real connections

    def add(self, effect: Effect, matches: Matches = everything, times: int | None = None) -> Rule:
        """Let ``effect`` happen from now on; the rule added first acts first."""
        rule = Rule(effect, matches, times)
        self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self._rules.clear()

    async def handle(self, request: Request) -> Answer:
        """Serve a request, or raise ``Unreachable``, as the rules and the state demand."""
        if self._stopped:
            raise Unreachable("connection refused")
        serve = self._serve
        for rule in reversed([rule for rule in self._rules if rule.takes(request)]):
            serve = _bound(rule.effect, serve)
        connections = self._connections
        answer = await serve(request)
        if connections.is_set():
            await answer.close()
            raise Unreachable("connection reset")
        if answer.stream is None:
            return answer
        return replace(answer, stream=_carried(answer.stream, connections))

    async def broken(self) -> None:
        """Wait until all connections break."""
        await self._connections.wait()

    def compact(self) -> None:
        self._store.compact()

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back in time, as a cluster whose etcd was restored from a backup."""
        self.disconnect()
        self._store.restore(snapshot)

    def disconnect(self) -> None:
        """Break every open connection."""
        self._connections.set()
        self._connections = asyncio.Event()
        self._store.disconnect()
        for breaks in tuple(self.on_disconnect):
            breaks()

    def stop(self) -> None:
        """Be gone: break what is open, refuse what comes."""
        self._stopped = True
        self.disconnect()

    def start(self) -> None:
        self._stopped = False


def _bound(effect: Effect, serve: Serve) -> Serve:
    async def bound(request: Request, as_of: int | None = None) -> Answer:
        def onward(request: Request, as_of: int | None = as_of) -> Awaitable[Answer]:
            return serve(request, as_of)

        return await effect(request, onward)

    return bound


async def _carried(
    stream: AsyncGenerator[bytes, None], connections: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    async with aclosing(stream):
        async for chunk in stream:
            if connections.is_set():
                break
            yield chunk
    if connections.is_set():
        raise Unreachable("connection reset")
