"""``isthmus unlink``: with its controller, without one, and never at anybody else's expense."""

from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.cli.joining.unlinking import StillThere, Unlinking
from isthmus.cli.progress import Progress
from isthmus.kube.client import Client
from isthmus.kube.transport import Request, Response
from isthmus.model.names import CREATED_NAMESPACE
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    LINKS,
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    VirtualClock,
    controlling,
    foreign,
    settled,
)
from tests.apps.test_mirroring import mirrored, pair, web
from tests.cli.joining.desk import desk, rule
from tests.support.transports import Intercepting

Printed = pytest.CaptureFixture[str]


def unlinking(east: Place, client: Client | None = None) -> tuple[Unlinking, list[str]]:
    lines: list[str] = []
    return Unlinking(client or east.client, "west", VirtualClock(), Progress(lines.append)), lines


async def everything(east: Place) -> dict[str, list[str]]:
    """Return what there is of each kind that a Link has to do with."""
    return {
        kind.plural: sorted(one["metadata"]["name"] for one in await east.all(kind))
        for kind in (SERVICES, SLICES, LINKS)
    }


async def joined(*services: JsonObject) -> tuple[Place, dict[str, list[str]]]:
    """A source whose controller has made mirrors and is gone; and what was there before."""
    east, west = await pair(*services)
    await east.create(SERVICES, foreign("mine-west"))
    before = await everything(east) | {LINKS.plural: []}
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(len(services)))
        await running.crash()
    return east, before


async def test_a_running_controller_removes_the_mirrors_and_is_waited_for() -> None:
    east, west = await pair(*web(3))
    work, lines = unlinking(east)
    async with controlling(east, [west]):
        await settled(east, mirrored(3))
        assert await work.wait(60) == "link.isthmus.dev/west deleted, and its mirrors with it"
        assert await everything(east) | {SLICES.plural: []} == {
            SERVICES.plural: ["kubernetes"],
            SLICES.plural: [],
            LINKS.plural: [],
        }
    assert lines[0] == "waiting for the controller: 3 mirrors left\n"
    assert await work.wait(60) == "link.isthmus.dev/west is not there"
    assert await work.force() == "link.isthmus.dev/west is not there; 0 objects of it removed"


async def test_without_a_controller_it_ends_with_the_way_out() -> None:
    east, _ = await joined(*web(1))
    work, _ = unlinking(east)
    with pytest.raises(StillThere, match=r"being deleted, with 1 mirror left; .* --force removes"):
        await work.wait(5)


async def test_what_is_waited_for_when_no_mirror_is_left_is_said() -> None:
    east, _ = await joined(*web(1))
    finalizers = [*(await east.link())["metadata"]["finalizers"], "example.com/backup"]
    await east.edit(LINKS, "west", {"metadata": {"finalizers": finalizers}})
    for one in await east.mirrors():
        await east.delete(SERVICES, one)
    work, lines = unlinking(east)
    names = ", ".join(finalizers)
    with pytest.raises(StillThere, match=r"being deleted, with 2 finalizers \(.*\) left; "):
        await work.wait(5)
    assert lines == [f"waiting for the controller: 2 finalizers ({names}) left\n"]


async def test_force_removes_what_the_controller_would_and_nothing_else() -> None:
    east, before = await joined(*web(3))
    work, _ = unlinking(east)
    with pytest.raises(StillThere):
        await work.wait(0)
    assert await work.force() == "link.isthmus.dev/west deleted; 6 objects of it removed"
    assert await everything(east) == before


async def test_what_somebody_has_made_their_own_stays() -> None:
    east, before = await joined(*web(2))
    await east.edit(SERVICES, "web-0-west", {"metadata": {"labels": None}})
    work, _ = unlinking(east)
    assert await work.force() == "link.isthmus.dev/west deleted; 3 objects of it removed"
    after = await everything(east)
    assert after == before | {SERVICES.plural: sorted([*before[SERVICES.plural], "web-0-west"])}


async def test_what_changes_while_it_is_deleted_is_looked_at_again() -> None:
    """Somebody makes a mirror their own between our reading it and our deleting it."""
    east, before = await joined(*web(1))
    edited: list[str] = []

    async def edit(request: Request) -> Response | None:
        if request.method == "DELETE" and request.path.endswith("/web-0-west") and not edited:
            edited.append(request.path)
            await east.edit(SERVICES, "web-0-west", {"metadata": {"labels": None}})
        return None

    client = Client(Intercepting(east.cluster.transport(), edit), clock=VirtualClock())
    work, _ = unlinking(east, client)
    assert await work.force() == "link.isthmus.dev/west deleted; 1 object of it removed"
    assert edited
    after = await everything(east)
    assert after == before | {SERVICES.plural: sorted([*before[SERVICES.plural], "web-0-west"])}


async def test_finalizers_of_others_and_namespaces_that_were_made_are_left_to_them() -> None:
    east, _ = await joined(*web(1))
    made = {"name": "shop", "labels": {CREATED_NAMESPACE: "west"}}
    await east.create(PLAIN_NAMESPACES, {"metadata": made})
    link = await east.link()
    finalizers = [*link["metadata"]["finalizers"], "example.com/backup"]
    await east.edit(LINKS, "west", {"metadata": {"finalizers": finalizers}})
    work, _ = unlinking(east)
    said = await work.force()
    assert "it stays until others have removed their finalizers: example.com/backup" in said
    assert said.endswith("; namespaces that were made for it stay: shop")
    assert (await east.link())["metadata"]["finalizers"] == ["example.com/backup"]
    assert await east.get(PLAIN_NAMESPACES, "shop") is not None


async def test_what_a_link_has_left_behind_can_be_removed_when_it_is_gone() -> None:
    east, before = await joined(*web(2))
    await east.edit(LINKS, "west", {"metadata": {"finalizers": []}})
    await east.delete(LINKS, "west")
    work, _ = unlinking(east)
    assert await work.wait(5) == (
        "link.isthmus.dev/west is not there; --force removes 4 objects that former Links have left"
    )
    assert await work.force() == "link.isthmus.dev/west is not there; 4 objects of it removed"
    assert await everything(east) == before


def test_it_prints_what_to_delete(capsys: Printed) -> None:
    assert main.run(["unlink", "west"]) == 0
    assert capsys.readouterr().out == (
        "apiVersion: isthmus.dev/v1alpha1\nkind: Link\nmetadata:\n  name: west\n"
    )


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["West"], "'West' is not the name of a cluster: lower-case letters"),
        (["west", "--force"], "--force goes with --apply"),
        (["west", "--timeout", "soon"], "not a duration such as 30s or 2m"),
        ([], "Missing argument 'CLUSTER'"),
    ],
)
def test_misuse(capsys: Printed, words: list[str], complaint: str) -> None:
    assert main.run(["unlink", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.sockets
async def test_it_is_typed_and_typed_again(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.east.create(LINKS, {"metadata": {"name": "west"}, "spec": {}})
        for expected in ("deleted, and its mirrors with it", "is not there"):
            assert await here.run("--context", "east", "unlink", "west", "--apply") == 0
            assert capsys.readouterr().out == f"link.isthmus.dev/west {expected}\n"
        assert await here.east.get(LINKS, "west") is None


@pytest.mark.sockets
async def test_who_may_not_is_told_so(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.east.create(LINKS, {"metadata": {"name": "west"}, "spec": {}})
        await here.become(here.east, rule("isthmus.dev", "links", "get", "list"))
        assert await here.run("--context", "east", "unlink", "west", "--apply") == 1
        assert 'cannot delete resource "links"' in capsys.readouterr().err
        assert await here.east.get(LINKS, "west") is not None
