"""``isthmus plan``: what it says is what a controller then does."""

import json
import re
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.cli.installation import Installation
from isthmus.cli.installation import installed as shown_by
from isthmus.cli.joining import documents, planning, planviews
from isthmus.cli.joining.forecast import Forecast, forecast
from isthmus.kube.plain import KINDS
from isthmus.kube.resources import Resource
from isthmus.model.actions import Create, Delete, Update
from isthmus.model.errors import Permanent
from isthmus.model.links import Gateway, Link
from isthmus.model.names import CONTROLLER, MIRRORED, REMOTE_NAME
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_NAMESPACES,
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    settled,
)
from tests.apps.test_catalogue import Way, offering
from tests.apps.test_mirroring import foreign
from tests.cli.joining.desk import desk, installed, rule
from tests.model.test_yamls import BOMB

Printed = pytest.CaptureFixture[str]

SETTINGS: JsonObject = {"enableHeadlessServices": True}


def document(**settings: object) -> JsonObject:
    return documents.link("west", Gateway(addresses=("203.0.113.9",)), SETTINGS | settings)


async def planned(
    east: Place, west: Place, link: Link | None = None, export: Key | None = None
) -> Forecast:
    if link is None:
        link = await planning.existing(east.client, "west")
    here = await planning.read_here(east.client, "isthmus")
    shown = await shown_by(west.client, "isthmus")
    there = await planning.read_there(west.client, shown, link, "east", export)
    return forecast(here, there, link, export)


async def target(grant: JsonObject | None = None) -> Place:
    """West, with one export of each sort: those that can be mirrored, and those that cannot."""
    west = await installed("west", 1)
    await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    for one in (
        exported("web"),
        exported("db", headless=True),
        exported("taken"),
        exported("cart", namespace="shop"),
        exported("logs", namespace="kube-system"),
        _udp("dns"),
    ):
        await west.create(SERVICES, one)
    await west.create(SLICES, endpoints("web", "10.2.0.1"))
    await west.create(SLICES, endpoints("db", "db-0", "db-1"))
    await west.create(
        GRANTS, {"metadata": {"name": "e"}, "spec": {"cluster": "east", **(grant or {})}}
    )
    return west


def _udp(name: str) -> JsonObject:
    made = exported(name)
    made["spec"]["ports"][0]["protocol"] = "UDP"
    return made


async def source() -> Place:
    east = await installed("east", 0)
    await east.create(SERVICES, foreign("taken-west"))
    return east


def keys(found: Forecast, action: type, kind: type) -> list[str]:
    return sorted(
        str(one.action.object.metadata.key)
        for one in found.writes
        if isinstance(one.action, action) and isinstance(one.action.object, kind)
    )


async def marked(east: Place, kind: Resource[JsonObject]) -> list[str]:
    """The names of all objects that are mirrors, or slices of mirrors."""
    found = await east.all(kind, labels=f"{MIRRORED}=true")
    return sorted(f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in found)


TABLE = Path(__file__).with_name("plan.txt").read_text()


async def test_a_plan_is_what_a_controller_then_does() -> None:
    east, west, way = await source(), await target(), Way()
    found = await planned(east, west, planning.read_link(document()))
    assert planviews.rendered(found, "table") == TABLE

    await east.create(LINKS, document())
    async with offering(west, way), controlling(east, catalogue=way) as running:
        await settled(east, [one.partition("/")[2] for one in keys(found, Create, Service)])
        assert await marked(east, SLICES) == keys(found, Create, EndpointSlice)
        assert (await east.link())["status"]["refused"] == [
            {"namespace": one.namespace, "name": one.name, "reason": one.reason}
            | {"message": one.message}
            for one in found.refused
        ]
        writes = len(running.writes)
        after = await planned(east, west)
        assert (after.writes, after.settled) == ([], 4)
        assert after.refused == found.refused
        assert len(running.writes) == writes


async def joined(*, west: Place) -> Place:
    """East, with the mirrors of west and a controller that is gone."""
    east, way = await source(), Way()
    await east.create(LINKS, document())
    async with offering(west, way), controlling(east, catalogue=way) as running:
        await settled(east, ["db-0-west", "db-1-west", "db-west", "web-west"])
        await running.crash()
    return east


async def test_what_has_changed_meanwhile_is_planned() -> None:
    west = await target()
    east = await joined(west=west)
    await west.delete(SERVICES, "web")
    await west.edit(SLICES, "db-abcde", {"endpoints": endpoints("db", "db-0")["endpoints"]})
    await west.edit(SERVICES, "db", {"metadata": {"labels": {"tier": "back"}}})
    found = await planned(east, west)
    assert keys(found, Delete, Service) == ["default/db-1-west", "default/web-west"]
    assert keys(found, Update, Service) == ["default/db-west"]
    assert keys(found, Update, EndpointSlice) == ["default/db-west-ipv4"]
    assert found.settled == 1
    shown = yaml.safe_load(planviews.rendered(found, "yaml"))
    details = {
        one["name"]: one.get("detail") for one in shown["actions"] if one["action"] == "change"
    }
    assert details == {"db-west": "labels", "db-west-ipv4": "endpoints"}


async def test_a_target_that_does_not_show_its_domain_has_the_one_that_mirrors_have() -> None:
    west = await target()
    east = await joined(west=west)
    await west.delete(KINDS["Deployment"], CONTROLLER, "isthmus")
    assert (await planned(east, west)).writes == []


async def test_all_mirrors_at_once_are_planned_to_go_as_they_would_after_a_second_look() -> None:
    west = await target()
    east = await joined(west=west)
    for name in ("web", "db"):
        await west.delete(SERVICES, name)
    assert len(keys(await planned(east, west), Delete, Service)) == 4


async def test_another_spec_for_a_link_that_is_there() -> None:
    west = await target()
    east = await joined(west=west)
    found = await planned(east, west, planning.read_link(document(naming="{cluster}-{service}")))
    assert keys(found, Create, Service) == [
        "default/west-db",
        "default/west-taken",
        "default/west-web",
    ]
    assert keys(found, Delete, Service) == ["default/db-west", "default/web-west"]
    assert keys(found, Update, Service) == ["default/db-0-west", "default/db-1-west"]


async def test_what_no_grant_covers_is_refused() -> None:
    west = await target({"to": {"services": ["default/web"]}})
    found = await planned(await source(), west, planning.read_link(document()))
    assert keys(found, Create, Service) == ["default/web-west"]
    assert {one.reason for one in found.refused} == {"NotGranted"}


async def test_namespaces_are_made_once() -> None:
    west = await target()
    await west.create(SERVICES, exported("till", namespace="shop"))
    link = planning.read_link(document(createNamespaces=True))
    found = await planned(await source(), west, link)
    assert keys(found, Create, Namespace) == ["shop"]
    assert "shop/till-west" in keys(found, Create, Service)


async def test_by_the_api_no_grant_is_needed() -> None:
    west = await target({"to": {"services": []}})
    settings = {"via": "api", "credentialsSecret": "x", "clusterDomain": "w.example"}
    found = await planned(await source(), west, planning.read_link(document(**settings)))
    assert len(keys(found, Create, Service)) == 4
    names = {one.action.object.metadata.annotations.get(REMOTE_NAME) for one in found.writes}
    assert "web.default.svc.w.example" in names


async def test_one_service_is_planned_as_if_it_were_exported() -> None:
    west = await target()
    await west.create(SERVICES, plain("mail"))
    await west.create(SLICES, endpoints("mail", "10.2.0.9"))
    east = await joined(west=west)
    found = await planned(east, west, export=Key("default", "mail"))
    assert keys(found, Create, Service) == ["default/mail-west"]
    assert len(found.writes) == 2
    assert (found.settled, found.refused) == (0, [])
    found = await planned(east, west, export=Key("default", "db"))
    assert (found.writes, found.settled) == ([], 3)
    found = await planned(east, west, export=Key("default", "taken"))
    assert [one.reason for one in found.refused] == ["NameTaken"]
    with pytest.raises(planning.NoSuchService, match="there is no Service default/nothing"):
        await planned(east, west, export=Key("default", "nothing"))


def plain(name: str) -> JsonObject:
    made = exported(name)
    made["metadata"]["labels"] = {}
    return made


async def test_a_service_that_the_links_selector_cannot_pick() -> None:
    west = await target()
    await west.create(SERVICES, plain("mail"))
    picky = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    link = planning.read_link(document(selector=picky))
    with pytest.raises(
        planning.NotSelected, match="the selector of the Link to west does not pick"
    ):
        await planned(await source(), west, link, Key("default", "mail"))


async def test_the_end_of_a_long_name_is_not_known_before_the_link_is() -> None:
    west = await target()
    await west.create(SERVICES, exported("n" * 60))
    found = await planned(await source(), west, planning.read_link(document()))
    assert [one.action.object.metadata.name[:20] for one in found.writes if one.is_provisional] == [
        "n" * 20,
        "n" * 20,
    ]
    assert "the end of its name is not known before the Link is" in planviews.rendered(
        found, "json"
    )


async def test_a_cluster_does_not_import_from_itself() -> None:
    west = await target()
    link = planning.read_link(document())
    here = await planning.read_here(west.client, "isthmus")
    there = await planning.read_there(west.client, Installation(), link, "east", None)
    with pytest.raises(planning.LinkToSelf, match="are the same cluster; name two contexts"):
        planning.check_apart(here, there)


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"kind": "Grant"}, "this is Grant of isthmus.dev/v1alpha1, not a Link"),
        ({"apiVersion": "v1"}, "this is Link of v1, not a Link"),
        ({"spec": {"gatway": {}}}, "no field 'gatway'; is gateway meant?"),
        ({"metadata": {}}, "this is no Link: Object missing required field `name`"),
    ],
)
def test_a_document_that_is_no_link(changes: JsonObject, complaint: str) -> None:
    with pytest.raises(Permanent, match=re.escape(complaint)):
        planning.read_link(document() | changes)


@pytest.mark.sockets
async def test_it_is_typed(tmp_path: Path, capsys: Printed) -> None:
    file = tmp_path / "west.yaml"
    async with desk(tmp_path) as here:
        await here.west.create(SERVICES, exported("web"))
        await here.west.create(GRANTS, {"metadata": {"name": "e"}, "spec": {"cluster": "east"}})
        assert await here.run("--context", "west", "link") == 0
        file.write_text(capsys.readouterr().out)

        assert await here.run("--context", "east", "plan", "--link", str(file)) == 0
        assert "+   create   Service         default/web-west" in capsys.readouterr().out
        assert await here.run("plan", "--from", "east", "--link", str(file), "-o", "json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["link"] == {"name": "west", "exists": False}
        assert [one.keys() for one in shown["actions"]] == [
            {"action", "kind", "namespace", "name", "standsFor", "detail"},
            {"action", "kind", "namespace", "name", "standsFor"},
        ]
        assert shown["summary"] == {
            "create": 2, "change": 0, "delete": 0, "refused": 0, "settled": 0,
        }  # fmt: skip
        assert await here.east.all(LINKS) == []

        for words, complaint in (
            (
                "plan --to west",
                "no Link to west: there is no Link here; plan one that is not there",
            ),
            ("plan", "no Link is meant: there is no Link here"),
            (f"plan --link {file} --to north", "north: "),
            (f"plan --link {file} --to east", "east: the Link says 'west', but the cluster calls"),
        ):
            assert await here.run("--context", "east", *words.split()) == 1
            assert complaint in capsys.readouterr().err

        await here.east.create(LINKS, yaml.safe_load(file.read_text()))
        for words in ("plan", "plan --to west", "plan default/web --from east --to west"):
            assert await here.run("--context", "east", *words.split(), "-o", "yaml") == 0
            shown = yaml.safe_load(capsys.readouterr().out)
            assert shown["link"] == {"name": "west", "exists": True}
            assert shown["summary"]["create"] == 2
        assert await here.run("--context", "east", "plan", "web", "-n", "nowhere") == 1
        assert "west: there is no Service nowhere/web" in capsys.readouterr().err


@pytest.mark.sockets
async def test_who_may_not_read_is_told_so(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.east.create(LINKS, document())
        await here.become(here.west, rule("apps", "deployments", "get"))
        assert await here.run("--context", "east", "plan") == 1
        assert "west: list services: services is forbidden" in capsys.readouterr().err


def test_a_few_lines_that_stand_for_millions_are_refused_at_once(
    tmp_path: Path, capsys: Printed
) -> None:
    file = tmp_path / "link.yaml"
    file.write_text(BOMB.replace("a9", "spec"))
    assert main.run(["plan", "--link", str(file)]) == 2
    assert "link.yaml: line 6: nested too deeply, or too many values" in capsys.readouterr().err
