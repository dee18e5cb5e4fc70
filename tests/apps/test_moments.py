"""What goes wrong for a moment costs a moment: nobody waits, or is lost, for much longer."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from isthmus.apps.controller.linking.second import look_twice
from isthmus.catalogue.errors import Unreachable
from isthmus.catalogue.following import Door
from isthmus.embedded.faults import effects
from isthmus.kube.errors import BadConfig, Forbidden, NotFound, Untrusted
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    Air,
    VirtualClock,
    controlling,
    exported,
    join,
    kubeconfig,
    place,
    secret,
    settled,
    source,
)
from tests.apps.clusters import link as named
from tests.apps.test_catalogue import Way, grant, link, offering, target, web
from tests.support.waiting import until


def writes_services(request: Request) -> bool:
    return request.method != "GET" and "/services" in request.path


async def test_slow_writes_do_not_take_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    """A webhook that is away lets each write wait for ten seconds, and as many as there are."""
    east, west = await source(), place("west", 1)
    names = [f"web-{number:02}" for number in range(40)]
    for name in names:
        await west.create(SERVICES, exported(name))
    await join(east, west)
    east.cluster.faults.add(effects.delayed(12.0), writes_services)
    async with controlling(east, [west]):
        await settled(east, [f"{name}-west" for name in names], within=120)
    assert "could not renew in time" not in caplog.text


async def test_a_pause_that_others_have_to_make_does_not_take_the_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    east, west = await source(), place("west", 1)
    await join(east, west)
    async with controlling(east, [west]):
        await west.create(SERVICES, exported("web"))
        await settled(east, ["web-west"])
        east.cluster.faults.add(effects.failing(429, retry_after=30), writes_services, times=1)
        await west.create(SERVICES, exported("more"))
        await settled(east, ["more-west", "web-west"], within=90)
    assert "could not renew in time" not in caplog.text


class Once:
    """A way to clusters on which one write meets an error."""

    def __init__(self, inner: Transport, error: IsthmusError) -> None:
        self._inner = inner
        self._error: IsthmusError | None = error

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        error = self._error
        if error is not None and request.method == "POST" and writes_services(request):
            self._error = None
            raise error
        return self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("error", [Forbidden, NotFound, Untrusted, BadConfig])
async def test_a_write_that_is_refused_once_is_told_and_tried_again(
    error: type[IsthmusError],
) -> None:
    east, west = await source(), place("west", 1)
    await west.create(SERVICES, exported("web"))
    await join(east, west)
    async with controlling(east, [west], around=lambda inner: Once(inner, error("this once"))):
        await asyncio.sleep(30)
        assert await east.mirrors() == []
        assert (await east.link())["status"]["refusedCount"] == 1
        await asyncio.sleep(180)
        assert await east.mirrors() == ["web-west"]
        assert (await east.link())["status"].get("refusedCount", 0) == 0


class Cut(Way):
    """A way to a catalogue on which every connection breaks half a minute after it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.followed = 0.0  # seconds

    def __call__(self, door: Door) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        inner, time = super().__call__(door), asyncio.get_running_loop().time

        @asynccontextmanager
        async def opened() -> AsyncIterator[AsyncIterator[bytes]]:
            async with inner as chunks:
                began = time()
                try:
                    yield self._until(began + 30, chunks)
                finally:
                    self.followed += time() - began

        return opened()

    async def _until(self, ends: float, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout_at(ends):
                    chunk = await anext(chunks)
            except TimeoutError:
                raise Unreachable("cut") from None
            yield chunk


async def test_connections_that_break_now_and_then_are_made_anew_at_once() -> None:
    way, east, west = Cut(), await source(), await target(*web(1))
    await west.create(GRANTS, grant())
    async with offering(west, way):
        await east.create(LINKS, link())
        async with controlling(east, catalogue=way):
            await asyncio.sleep(3600)
    assert way.followed > 0.95 * 3600


class Closing(Way):
    """A way to a catalogue that takes a moment to be closed, as sockets do."""

    def __call__(self, door: Door) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        inner = super().__call__(door)

        @asynccontextmanager
        async def opened() -> AsyncIterator[AsyncIterator[bytes]]:
            async with inner as chunks:
                try:
                    yield chunks
                finally:
                    await asyncio.sleep(0)

        return opened()


async def test_links_may_change_while_a_connection_is_being_closed() -> None:
    way, east, west = Closing(), await source(), await target(*web(2))
    await west.create(GRANTS, grant())
    async with offering(west, way):
        await east.create(LINKS, link())
        async with controlling(east, catalogue=way) as running:
            await settled(east, ["web-0-west", "web-1-west"])
            for number in range(10, 20):
                moved = {"spec": {"gateway": {"addresses": [f"203.0.113.{number}"]}}}
                await east.edit(LINKS, "west", moved)
                await asyncio.sleep(0)
            await asyncio.sleep(5)
            assert not running.task.done()
            await west.create(SERVICES, exported("late"))
            await settled(east, ["late-west", "web-0-west", "web-1-west"])


@pytest.mark.parametrize("times", [1, 2])
async def test_a_name_that_does_not_resolve_at_once_costs_seconds(times: int) -> None:
    class Failing(Air):
        left = times

        async def resolve(self, host: str) -> tuple[str, ...]:
            self.left -= 1
            if self.left >= 0:
                raise OSError(f"temporary failure in name resolution: {host}")
            return ("203.0.113.9",)

    way, east, west = Way(), await source(), await target(*web(1))
    await west.create(GRANTS, grant())
    async with offering(west, way):
        await east.create(LINKS, link(gateway={"addresses": ["gw.example.com"]}))
        async with controlling(east, catalogue=way, air=Failing()):
            await settled(east, ["web-0-west"], within=15)


async def test_a_link_ends_although_an_aggregated_api_is_down() -> None:
    """Whether the namespace that it has made is empty cannot be told then: it stays."""
    east, west = await source(), place("west", 1)
    await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    await west.create(SERVICES, exported("web", namespace="shop"))
    await join(east, west, createNamespaces=True)
    async with controlling(east, [west]):
        await until(east.mirrors, lambda found: found == ["shop/web-west"], within=30)
        east.cluster.faults.add(
            effects.failing(503), lambda request: request.path == "/apis/events.k8s.io/v1"
        )
        await east.delete(LINKS, "west")
        await until(lambda: east.all(LINKS), lambda found: not found, within=30)
        assert await east.get(PLAIN_NAMESPACES, "shop") is not None


async def test_when_an_older_link_to_the_same_cluster_is_gone_the_other_is_as_before() -> None:
    east, west, north = await source(), place("west", 1), place("north", 2)
    await west.create(SERVICES, exported("web"))
    await east.create(PLAIN_SECRETS, secret("old", kubeconfig("north", north.cluster.admin_token)))
    await east.create(LINKS, named("old"))
    await asyncio.sleep(5)
    await join(east, west)
    async with controlling(east, [west, north]):
        await settled(east, ["web-west"])
        raw = kubeconfig("west", west.cluster.admin_token)
        encoded = {"data": {"kubeconfig": b64encode(raw).decode()}}
        await east.edit(PLAIN_SECRETS, "cluster-credentials-old", encoded, "isthmus")
        forgotten: JsonObject = {"status": {"clusterUID": ""}}
        await east.client.merge_patch(LINKS, Key("", "old"), forgotten, "status")
        await asyncio.sleep(120)
        assert await east.condition("Connected") == ("False", "DuplicateTarget")
        await east.delete(LINKS, "old")
        await asyncio.sleep(90)
        assert await east.condition("Connected") == ("True", "Connected")
        assert await east.condition("Synced") == ("True", "Synced")


async def test_a_second_look_is_not_put_off_for_what_was_settled_long_ago() -> None:
    """A mass loss a day, of which the first look says no and the second yes."""
    doubt, clock = asyncio.Event(), VirtualClock()
    target = SimpleNamespace(doubt=doubt, held=(), uid="west")

    def confirm(_uid: str, _held: object) -> None:
        target.held = ()
        doubt.clear()

    answers: list[bool] = []

    async def confirmed(_held: object) -> bool:
        return answers.pop(0)

    state: Any = SimpleNamespace(confirm=confirm)
    outside: Any = SimpleNamespace(clock=clock, random=Random(3))
    looking = asyncio.create_task(look_twice(state, cast(Any, target), outside, confirmed))
    for _ in range(12):
        answers[:] = [False, True]
        target.held = ("web-west",)
        doubt.set()
        await asyncio.sleep(10)
        assert not doubt.is_set()
        await asyncio.sleep(86_400)
    looking.cancel()
    await asyncio.wait({looking})
