"""``isthmus install`` that is killed wherever it waits is typed again, and ends the same."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.cli.installing.installing import bring
from isthmus.cli.installing.wishes import Wish, drafted
from isthmus.cli.trusting import files
from isthmus.embedded.state.store import Key as Stored
from isthmus.embedded.state.store import Snapshot
from isthmus.install.parts import is_ours
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.names import ISSUER
from isthmus.model.wire import JsonObject
from isthmus.pki import bundle
from isthmus.pki.keys import read_pair
from isthmus.pki.verify import anchor_of
from tests.apps.clusters import Place, place
from tests.crash.dying import FULLY, Fate, Life, Moment
from tests.crash.portrait import Portrait, differences, kept, portrait, restore, strangers

SECRET = Stored("/secrets", "isthmus", ISSUER)
LATER = ("logLevel=debug", "admissionPolicy.enabled=false")


class RealClock:
    """Anchors are made by the real time, whatever time it is in here."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster, and what is typed."""

    west: Place
    wish: Wish
    start: list[Snapshot]

    def begin(self) -> None:
        restore((self.west,), self.start)

    async def install(self, life: Life) -> None:
        """Type the command; it ends, or it dies."""
        client = Client(life.around(self.west.cluster.transport()), clock=RealClock())
        await life.lives(bring(client, drafted(self.wish), _say, RealClock()))


def _say(_obj: JsonObject, _outcome: str) -> None: ...


def wished(folder: Path, *sets: str, ha: bool = False) -> Wish:
    anchor = folder / "anchor"
    if not anchor.exists():
        assert main.run(["trust", "create", "--out", str(anchor)]) == 0
    return Wish(cluster_name="west", anchor=anchor, sets=sets, ha=ha, apply=True)


async def nothing_installed(folder: Path) -> Scene:
    west = place("west")
    theirs = {"name": "isthmus-gateway", "namespace": "default"}
    await west.create(KINDS["ServiceAccount"], {"metadata": theirs})
    return Scene(west, wished(folder), kept(west))


async def half_installed(folder: Path) -> Scene:
    """Whoever began with it was killed in the middle."""
    scene = await nothing_installed(folder)
    whole = Life()
    await scene.install(whole)
    writes = [at for at, one in enumerate(whole.asked) if one.is_write]
    scene.begin()
    await scene.install(Life(Moment(writes[len(writes) // 2], Fate.UNANSWERED)))
    return Scene(scene.west, scene.wish, kept(scene.west))


async def installed_otherwise(folder: Path) -> Scene:
    """There is an installation; the one that is wished for does without some of it."""
    scene = await nothing_installed(folder)
    first = Scene(scene.west, wished(folder, ha=True), scene.start)
    await first.install(Life())
    wish = wished(folder, "ha=false", *LATER)
    return Scene(scene.west, wish, kept(scene.west))


STATES = (nothing_installed, half_installed, installed_otherwise)


@pytest.mark.long
@pytest.mark.parametrize("state", STATES, ids=lambda one: one.__name__.replace("_", " "))
async def test_a_command_killed_wherever_it_waits_is_typed_again_and_ends_the_same(
    state: Callable[[Path], Awaitable[Scene]], tmp_path: Path
) -> None:
    scene = await state(tmp_path)
    whole = Life()
    await scene.install(whole)
    wanted = _shown(scene.west)
    assert whole.writes
    await _rests(scene)  # and so does whoever finds the same, down to who manages which field
    for moment in whole.moments(many_at_once=False):
        scene.begin()
        untouched = strangers(scene.west, _is_installed)
        victim = Life(moment)
        await scene.install(victim)
        assert victim.died.is_set(), moment
        await scene.install(Life())
        found = _shown(scene.west)
        assert found == wanted, f"{moment}\n{differences(found, wanted)}"
        assert _is_below_the_anchor(scene), moment
        if FULLY:
            await _rests(scene)
        assert strangers(scene.west, _is_installed) == untouched, moment


async def _rests(scene: Scene) -> None:
    """What is as it should be is not written."""
    life = Life()
    await scene.install(life)
    assert life.writes == []


def _is_installed(obj: JsonObject) -> bool:
    return is_ours(obj)


def _shown(west: Place) -> Portrait:
    """The cluster, without the key that is made anew each time."""
    found = portrait(west)
    found[SECRET] = {**found[SECRET], "data": sorted(found[SECRET]["data"])}
    return found


def _is_below_the_anchor(scene: Scene) -> bool:
    record = scene.west.cluster.store.get(SECRET)
    assert record is not None
    data = {name: b64decode(value) for name, value in record.object["data"].items()}
    issuer = read_pair(data["tls.crt"], data["tls.key"], "the issuer")
    assert scene.wish.anchor is not None
    anchor = files.read_anchor(scene.wish.anchor).certificate
    return anchor_of(issuer.certificate, bundle.of((anchor,))) == anchor
