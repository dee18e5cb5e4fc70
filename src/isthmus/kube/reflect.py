"""Does what a reflector decides: the loop between it and a server, which only cancelling ends."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeAlias, TypeVar, assert_never

from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.errors import Garbled
from isthmus.kube.reflector import Reflector
from isthmus.kube.requests import EVERYTHING, Call, Selection
from isthmus.kube.resources import Resource
from isthmus.kube.steps import Audit, List, Step, Stream, Wait, Watch
from isthmus.kube.watch import WatchDecoder
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.runtime.cache import Event, Listed
from isthmus.runtime.clock import Clock, SystemClock

T = TypeVar("T")
Emit: TypeAlias = Callable[[Event[Key, T]], object]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """What is reflected: some objects of one kind, on one server."""

    client: Client
    resource: Resource[T]
    selection: Selection = EVERYTHING
    cluster: str = ""  # what log lines call it

    @property
    def fields(self) -> Mapping[str, str]:
        return {"cluster": self.cluster, "resource": self.resource.plural}


async def reflect(
    source: Source[T], reflector: Reflector[T], emit: Emit[T], clock: Clock | None = None
) -> None:
    """Emit what ``source`` holds and how it changes, for ever.

    The first event is a complete snapshot. ``reflector`` shows at any time how things stand.
    """
    running = _Reflection(source, reflector, emit, clock or SystemClock())
    while True:
        step = reflector.next(running.clock.now())
        try:
            await running.take(step)
        except IsthmusError as error:
            reflector.failed(error, running.clock.now())
            log.info(
                "reflection failed; will retry",
                extra={**source.fields, "error": str(error)},
            )


@dataclass(frozen=True, slots=True)
class _Reflection(Generic[T]):
    source: Source[T]
    reflector: Reflector[T]
    emit: Emit[T]
    clock: Clock

    async def take(self, step: Step) -> None:
        client, resource, selection = (
            self.source.client,
            self.source.resource,
            self.source.selection,
        )
        match step:
            case Wait(seconds):
                await self.clock.sleep(seconds)
            case List():
                page = await client.list(resource, selection)
                self._pass_on(self.reflector.listed(page, self.clock.now()))
            case Audit():
                await self._audit()
            case Stream(seconds):
                await self._follow(requests.watch_list(resource, selection, seconds))
            case Watch(version, seconds):
                await self._follow(requests.watch(resource, selection, version, seconds))
            case _:
                assert_never(step)

    async def _audit(self) -> None:
        comparison = self.reflector.comparison()
        pages = self.source.client.pages(self.source.resource, self.source.selection)
        try:
            async for page in pages:
                comparison.add(page)
        except IsthmusError as error:
            self.reflector.audit_failed(error, self.clock.now())
        else:
            self.reflector.audited(comparison, self.clock.now())

    async def _follow(self, call: Call[T]) -> None:
        """Read a watch until it ends, fails, or something else is due."""
        try:
            async with asyncio.timeout(None) as timer:
                await self._read(call, timer)
        except TimeoutError:
            self.reflector.left(self.clock.now())
        else:
            self.reflector.ended(self.clock.now())

    async def _read(self, call: Call[T], timer: asyncio.Timeout) -> None:
        limits = self.source.client.limits
        decoder = WatchDecoder(self.source.resource, call, limits.line_bytes)
        due_at = self._set(timer, 0.0)
        size = 0
        async with self.source.client.watch(call) as chunks:
            self.reflector.opened(self.clock.now())
            async for chunk in chunks:
                size += len(chunk)
                if self.reflector.delivering and size > limits.list_bytes:
                    raise Garbled(
                        f"{call}: the initial state is larger than {limits.list_bytes} bytes"
                    )
                now = self.clock.now()
                for seen in decoder.receive(chunk):
                    self._pass_on(self.reflector.received(seen, now))
                due_at = self._set(timer, due_at)
        decoder.finish()

    def _set(self, timer: asyncio.Timeout, due_at: float) -> float:
        """Let ``timer`` end the watch when something else is due."""
        due = self.reflector.due_at
        if due != due_at:
            left = due - self.clock.now()
            at = asyncio.get_running_loop().time() + left
            timer.reschedule(None if at == inf else at)
        return due

    def _pass_on(self, event: Event[Key, T] | None) -> None:
        if event is None:
            return
        if isinstance(event, Listed):
            log.info(
                "snapshot complete",
                extra={**self.source.fields, "objects": len(event.objects)},
            )
        self.emit(event)
