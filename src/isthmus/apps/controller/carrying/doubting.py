"""Doubts a list that lacks much of what was there a moment ago, until another list says the same.

A watch tells of one loss at a time, and is believed at once. A list can be wrong in ways that no
status code shows, and proxies that act upon it would cut off callers who did nothing.
"""

import asyncio
import logging
from typing import Generic, TypeVar, assert_never

from isthmus.apps.controller.linking.second import BACKOFF, LONGEST_PAUSE, SHORTEST_PAUSE
from isthmus.apps.controller.outside import Outside
from isthmus.core.guard import Guard, judge
from isthmus.kube.codec import key_of
from isthmus.kube.reflect import Emit, Source
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.runtime.backoff import Retries
from isthmus.runtime.cache import Event, Gone, Listed, Put

T = TypeVar("T")

log = logging.getLogger(__name__)


class Doubting(Generic[T]):
    """Stands between a reflection of ``source`` and whoever acts upon it."""

    def __init__(self, source: Source[T], outside: Outside, emit: Emit[T]) -> None:
        self.source = source
        self._outside = outside
        self._emit = emit
        self._known: dict[Key, T] = {}
        self._held: set[Key] = set()
        self._doubt = asyncio.Event()

    @property
    def held(self) -> int:
        """How many objects are kept although a list lacks them."""
        return len(self._held)

    def fold(self, event: Event[Key, T]) -> None:
        """Take in what the reflection says, and pass on what is to be believed."""
        match event:
            case Listed(objects, unreadable):
                self._emit(Listed(self._believed(objects, unreadable), unreadable))
                return
            case Put(obj):
                key = key_of(obj)
                self._known[key] = obj
                self._held.discard(key)
            case Gone(key):
                self._known.pop(key, None)
                self._held.discard(key)
            case _:
                assert_never(event)
        self._emit(event)

    async def run(self) -> None:
        """Look again whenever something is held, for ever."""
        clock, random = self._outside.clock, self._outside.random
        retries = Retries(BACKOFF, random)
        while True:
            await self._doubt.wait()
            await clock.sleep(random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
            try:
                await self._look_again()
            except IsthmusError as error:
                log.info("no second list", extra={**self.source.fields, "error": str(error)})
                await clock.sleep(retries.failed())
            else:
                retries.reset()

    def _believed(self, objects: tuple[T, ...], unreadable: frozenset[Key]) -> tuple[T, ...]:
        listed = {key_of(one): one for one in objects}
        lost = self._known.keys() - listed.keys() - unreadable
        kept: dict[Key, T] = {}
        if judge(Guard(), len(self._known), lost, 0).holds:
            kept = {key: self._known[key] for key in lost}
            self._doubt.set()
            log.warning(
                "a list lacks much of what was there; asking again",
                extra={**self.source.fields, "missing": len(lost)},
            )
        unread = {key: self._known[key] for key in unreadable if key in self._known}
        self._held = set(kept)
        self._known = {**unread, **kept, **listed}
        return (*kept.values(), *objects)

    async def _look_again(self) -> None:
        self._doubt.clear()
        asked_for = set(self._held)
        try:
            page = await self.source.client.list(self.source.resource, self.source.selection)
        except IsthmusError:
            self._doubt.set()
            raise
        found = {key_of(one): one for one in page.objects}
        answered = (asked_for & self._held) - {bad.key for bad in page.bad}
        if not answered:
            return
        self._held -= answered
        for key in answered:
            self._known.pop(key)
        self._known |= {key: found[key] for key in answered & found.keys()}
        # All at once: whoever sees that this cannot be true must not have acted upon half of it.
        self._emit(Listed(tuple(self._known.values())))
