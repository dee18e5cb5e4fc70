"""Whatever a catalogue says, no mirror is lost by it: by anything but the truth, said twice."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass

import pytest

from isthmus.catalogue.following import Chunks, Door
from isthmus.catalogue.messages import (
    Alive,
    Complete,
    Hello,
    Offered,
    Revoked,
    Withdrawn,
    line,
)
from isthmus.core.guard import ALWAYS_ALLOWED
from isthmus.model.exports import NamedPod
from isthmus.model.objects import Key
from tests.apps.clusters import LINKS, Place, controlling, settled, source
from tests.apps.test_catalogue import link
from tests.support.builders import export

QUARTER = 900.0
HELLO = Hello(
    version=1,
    cluster="west",
    uid="uid-of-west",
    mesh_domain="isthmus",
    cluster_domain="west.cluster.local",
)
WEB = [export(f"web-{number}", "default") for number in range(8)]
MIRRORS = [f"web-{number}-west" for number in range(8)]
GREETING = line(HELLO)
EVERYTHING = b"".join(line(Offered(export=one)) for one in WEB)
TRUTH = GREETING + EVERYTHING + line(Complete(count=8))

Speech = Callable[[], AsyncGenerator[bytes, None]]


async def truth() -> AsyncGenerator[bytes, None]:
    yield TRUTH
    while True:
        await asyncio.sleep(10)
        yield line(Alive())


def saying(*chunks: bytes, then_end: bool = False) -> Speech:
    async def speech() -> AsyncGenerator[bytes, None]:
        for chunk in chunks:
            await asyncio.sleep(0.01)
            yield chunk
        if not then_end:
            await asyncio.sleep(1e9)

    return speech


def renamed(**changes: object) -> bytes:
    given = {name: getattr(HELLO, name) for name in HELLO.__struct_fields__}
    return line(Hello(**(given | changes)))


async def endless() -> AsyncGenerator[bytes, None]:
    yield GREETING
    number = 0
    while True:
        await asyncio.sleep(1)
        number += 1
        yield line(Offered(export=export(f"fake-{number}", "default")))


async def dripping() -> AsyncGenerator[bytes, None]:
    yield GREETING + EVERYTHING
    while True:
        await asyncio.sleep(5)
        yield b" "


async def withdrawing() -> AsyncGenerator[bytes, None]:
    """Tells of one withdrawal after the other, but never twice the same."""
    yield TRUTH
    for one in WEB:
        yield line(Withdrawn(namespace=one.namespace, name=one.name))
    await asyncio.sleep(1e9)


@dataclass(slots=True)
class Liar:
    """A way to a catalogue that says something else each time; the last speech is repeated."""

    speeches: list[Speech]
    opened: int = 0

    def __call__(self, door: Door) -> AbstractAsyncContextManager[Chunks]:
        return self._open(door)

    @asynccontextmanager
    async def _open(self, _door: Door) -> AsyncIterator[Chunks]:
        await asyncio.sleep(0.01)
        speech = self.speeches[min(self.opened, len(self.speeches) - 1)]
        self.opened += 1
        async with aclosing(speech()) as chunks:
            yield chunks


async def mirrored(east: Place) -> None:
    """Have mirrors made by an honest catalogue."""
    await east.create(LINKS, link())
    async with controlling(east, catalogue=Liar([truth])):
        await settled(east, MIRRORS)


@pytest.mark.parametrize(
    "speech, reason",
    [
        pytest.param(saying(b"<html>", b"\n"), "Garbled", id="no JSON"),
        pytest.param(saying(GREETING, b'{"type":"delete-all"}\n'), "Garbled", id="no message"),
        pytest.param(saying(GREETING, b"[" * 100_000 + b"\n"), "Garbled", id="bottomless"),
        pytest.param(saying(GREETING, b'{"type":"\xff"}\n'), "Garbled", id="no text"),
        pytest.param(saying(GREETING, *[b"x" * 65536] * 20), "Garbled", id="an endless line"),
        pytest.param(saying(line(Complete(count=0))), "Garbled", id="no hello"),
        pytest.param(saying(TRUTH, GREETING), "Garbled", id="two hellos"),
        pytest.param(saying(TRUTH, line(Complete(count=8))), "Garbled", id="complete twice"),
        pytest.param(
            saying(GREETING + EVERYTHING + line(Complete(count=9))), "Garbled", id="one is missing"
        ),
        pytest.param(saying(GREETING + line(Complete(count=-1))), "Garbled", id="fewer than none"),
        pytest.param(saying(renamed(version=2)), "Garbled", id="another version"),
        pytest.param(saying(renamed(cluster="north")), "WrongCluster", id="another cluster"),
        pytest.param(saying(renamed(mesh_domain="other")), "WrongCluster", id="another mesh"),
        pytest.param(saying(renamed(uid="other")), "IdentityChanged", id="another UID"),
        pytest.param(saying(renamed(uid="")), "Garbled", id="no UID"),
        pytest.param(saying(renamed(cluster_domain="a b")), "Garbled", id="no domain"),
        pytest.param(
            saying(GREETING + EVERYTHING, then_end=True), "Unreachable", id="no end marker"
        ),
        pytest.param(saying(GREETING, then_end=True), "Unreachable", id="nothing but a hello"),
        pytest.param(saying(b"", then_end=True), "Unreachable", id="nothing at all"),
        pytest.param(saying(), "Unreachable", id="silence"),
        pytest.param(saying(GREETING + EVERYTHING), "Unreachable", id="silence before the end"),
        pytest.param(dripping, "Unreachable", id="bytes without messages"),
        pytest.param(endless, "Unreachable", id="no end in sight"),
        pytest.param(saying(GREETING, line(Revoked())), "Forbidden", id="revoked"),
        pytest.param(
            saying(GREETING, line(Offered(export=export("../x", "default")))),
            "Garbled",
            id="a name that is a path",
        ),
    ],
)
async def test_a_catalogue_that_makes_no_sense_takes_nothing_away(
    speech: Speech, reason: str
) -> None:
    east = await source()
    await mirrored(east)
    async with controlling(east, catalogue=Liar([speech]), seed=2) as here:
        await asyncio.sleep(400)
        assert await east.mirrors() == MIRRORS
        assert [one for one in here.writes if "/services" in one or "/endpointslices" in one] == []
        assert await east.condition("Connected") == ("False", reason)
        # One status and one event for each turn of it, however often it is tried.
        assert len(here.writes) < 12


@pytest.mark.parametrize(
    "lie, lost",
    [
        pytest.param(saying(GREETING + line(Complete(count=0))), 0, id="an empty catalogue"),
        pytest.param(withdrawing, ALWAYS_ALLOWED, id="everything withdrawn, one by one"),
    ],
)
async def test_one_lie_is_not_enough_for_a_mass_deletion(lie: Speech, lost: int) -> None:
    east = await source()
    await mirrored(east)
    liar = Liar([lie, truth])
    async with controlling(east, catalogue=liar, seed=2) as here:
        await asyncio.sleep(QUARTER)
        deleted = [one for one in here.writes if one.startswith("DELETE") and "/services/" in one]
        assert len(deleted) <= lost
        await settled(east, MIRRORS)
        assert await east.condition("Ready") == ("True", "Ready")
        assert liar.opened >= 3


async def test_hostile_names_of_pods_make_no_mirror() -> None:
    east = await source()
    await east.create(LINKS, link(endpointNaming="x{hostname}"))
    names = ("", "..", "A", "a.b", "h" * 64, "db-0", "db-0")
    pods = tuple(NamedPod(hostname=one) for one in names)
    db = export("db", "default", headless=True, pods=pods)
    said = GREETING + line(Offered(export=db)) + line(Complete(count=1))
    async with controlling(east, catalogue=Liar([saying(said)])) as here:
        await settled(east, ["db-west", "xdb-0"])
        (target,) = here.controller.state.targets.values()
        found = target.admitted.exports[Key("default", "db")]
        assert [one.hostname for one in found.pods] == ["db-0"]
        assert found.unnamed


async def test_a_link_that_leads_back_home_is_refused() -> None:
    east = await source()
    await east.create(LINKS, link())
    async with controlling(east) as here:
        await asyncio.sleep(5)
        own = here.controller.state.own_uid
    async with controlling(east, catalogue=Liar([saying(renamed(uid=own))]), seed=2):
        await asyncio.sleep(60)
        assert await east.condition("Connected") == ("False", "LinkToSelf")
        assert await east.mirrors() == []
