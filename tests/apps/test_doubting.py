"""A list that lacks much is not believed before another one says the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from isthmus.apps.controller.doubting import Doubting
from isthmus.apps.controller.outside import Outside
from isthmus.embedded.cluster import Cluster
from isthmus.kube.client import Client
from isthmus.kube.reflect import Source
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put
from tests.support.waiting import eventually


def config(number: int) -> ConfigMap:
    labels = {"mine": "true"}
    metadata = Metadata(namespace="default", name=f"one-{number}", labels=labels)
    return ConfigMap(metadata=metadata)


class Believer:
    """Acts upon what it is told, beside a cluster in which ``stored`` objects really exist."""

    def __init__(self, stored: int) -> None:
        self.client = Client(Cluster("east").transport())
        self.stored = stored
        self.cache: Cache[Key, ConfigMap] = Cache(lambda one: one.metadata.key)
        source = Source(self.client, CONFIG_MAPS, Selection(labels="mine"))
        self.doubting = Doubting(source, Outside(client=self.client), self.fold)

    def fold(self, event: Event[Key, ConfigMap]) -> None:
        self.cache.fold(event)

    @property
    def known(self) -> int:
        return len(self.cache.objects)

    def tell_of(self, count: int) -> None:
        self.doubting.fold(Listed(tuple(config(number) for number in range(count))))


@asynccontextmanager
async def believer(stored: int) -> AsyncIterator[Believer]:
    made = Believer(stored)
    for number in range(stored):
        await made.client.create(CONFIG_MAPS, config(number))
    running = asyncio.create_task(made.doubting.run())
    yield made
    running.cancel()
    await asyncio.wait({running})


async def test_an_empty_list_takes_nothing_away_if_it_was_wrong() -> None:
    async with believer(20) as made:
        made.tell_of(20)
        made.tell_of(0)
        assert (made.known, made.doubting.held) == (20, 20)
        await eventually(lambda: made.doubting.held == 0)
        assert made.known == 20


async def test_an_empty_list_is_believed_when_it_is_said_twice() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(0)
        assert made.known == 20
        await eventually(lambda: made.doubting.held == 0)
        assert made.known == 0


async def test_a_few_losses_are_believed_at_once() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(16)
        assert (made.known, made.doubting.held) == (16, 0)


async def test_a_watch_is_believed_at_once() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        for number in range(20):
            made.doubting.fold(Gone(Key("default", f"one-{number}")))
        assert (made.known, made.doubting.held) == (0, 0)


async def test_what_is_held_and_then_seen_or_gone_is_held_no_longer() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        made.tell_of(0)
        made.doubting.fold(Put(config(3)))
        made.doubting.fold(Gone(Key("default", "one-4")))
        assert (made.known, made.doubting.held) == (19, 18)
        await eventually(lambda: made.doubting.held == 0)
        assert set(made.cache.objects) == {Key("default", "one-3")}


async def test_no_second_list_is_no_confirmation() -> None:
    async with believer(0) as made:
        made.tell_of(20)
        await made.client.close()
        made.tell_of(0)
        await asyncio.sleep(30)
        assert (made.known, made.doubting.held) == (20, 20)
