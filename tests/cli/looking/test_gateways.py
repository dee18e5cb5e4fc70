"""``isthmus gateways``, as it is typed and as it answers."""

from pathlib import Path

import msgspec
import pytest
import yaml

from isthmus.cli.looking import probed
from isthmus.cli.looking.exposition import Numbers, numbers
from isthmus.model.links import Link, LinkStatus
from isthmus.model.objects import Condition, Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import LINKS, Place
from tests.apps.clusters import link as plain_link
from tests.cli.joining.desk import rule
from tests.cli.looking.stage import Printed, stage, uninstalled
from tests.support.builders import link

pytestmark = pytest.mark.sockets

LEADER = """\
# TYPE gateway_alive gauge
gateway_alive{target_cluster_name="west"} 1.0
gateway_alive{target_cluster_name="north"} 0.0
gateway_latency{target_cluster_name="west"} 1.24
gateway_latency{target_cluster_name="north"} 17.0
isthmus_leading 1.0
"""
FOLLOWER = LEADER.replace("1.24", "9.99").replace("isthmus_leading 1.0", "isthmus_leading 0.0")


class _Gateway(msgspec.Struct, forbid_unknown_fields=True):
    cluster: str
    addresses: list[str]
    port: int
    alive: bool | None
    services: int | None
    latency: float | None = msgspec.field(name="latencyMs")


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of ``-o json``."""

    gateways: list[_Gateway]


async def linked(east: Place, name: str, status: JsonObject | None = None) -> None:
    await east.create(LINKS, plain_link(name))
    if status is not None:
        await east.client.merge_patch(LINKS, Key("", name), {"status": status}, "status")


def alive(status: str, mirrors: int) -> JsonObject:
    time = {"lastTransitionTime": "2026-01-02T03:04:05Z"}
    condition = {
        "type": "GatewayAlive",
        "status": status,
        "reason": "Probed",
        "message": "",
        **time,
    }
    return {"conditions": [condition], "mirrors": mirrors}


async def three(east: Place) -> None:
    await linked(east, "west", alive("True", 3))
    await linked(east, "north", alive("False", 12))
    await linked(east, "new")


async def test_every_link_has_a_row(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        await here.start("controller", metrics=LEADER)
        assert await here.run("gateways") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out == (
        "CLUSTER   ALIVE   NUM_SVC   LATENCY\n"
        "new       -       -         -\n"
        "north     False   12        -\n"
        "west      True    3         1.24ms\n"
    )


async def test_the_data_has_its_schema(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        await here.start("controller", metrics=LEADER)
        assert await here.run("gateways", "west", "-o", "json") == 0
        found = msgspec.json.decode(capsys.readouterr().out, type=Document)
        assert await here.run("gateways", "west", "-o", "yaml") == 0
        assert msgspec.convert(yaml.safe_load(capsys.readouterr().out), Document) == found
    assert found.gateways == [_Gateway("west", ["203.0.113.9"], 4143, True, 3, 1.24)]


async def test_the_controller_that_leads_has_the_last_word(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        await here.start("controller", "isthmus-controller-0", metrics=LEADER)
        await here.start("controller", "isthmus-controller-1", metrics=FOLLOWER)
        assert await here.run("gateways", "west") == 0
    assert "1.24ms" in capsys.readouterr().out


async def test_without_controllers_the_links_say_what_they_know(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        assert await here.run("gateways", "west") == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines()[1].split() == ["west", "True", "3", "-"]
        assert printed.err.startswith("no latencies: no controller runs in namespace isthmus;")


async def test_a_controller_that_does_not_answer_hides_no_link(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        runner = await here.start("controller")
        await runner.cleanup()
        assert await here.run("gateways", "west") == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines()[1].split() == ["west", "True", "3", "-"]
        assert "connection refused" in printed.err
        assert "does the pod run?" in printed.err


LINKS_ONLY = (rule("isthmus.dev", "links", "list"),)
PODS_TOO = (*LINKS_ONLY, rule("", "pods", "list"))
PAGES_TOO = (*PODS_TOO, rule("", "pods/proxy", "get"))


@pytest.mark.parametrize(
    "rules, code, said",
    [
        pytest.param((), 1, 'cannot list resource "links"', id="nothing"),
        pytest.param(LINKS_ONLY, 0, 'cannot list resource "pods"', id="no pods"),
        pytest.param(PODS_TOO, 0, "it takes the verb get on pods/proxy", id="no pages"),
        pytest.param(PAGES_TOO, 0, "", id="all that it takes"),
    ],
)
async def test_who_may_not_look_is_told_what_is_missing(
    tmp_path: Path, capsys: Printed, rules: tuple[JsonObject, ...], code: int, said: str
) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        await here.start("controller", metrics=LEADER)
        await here.desk.become(here.east, *rules)
        assert await here.run("gateways") == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert ("1.24ms" in printed.out) == (not said)


async def test_without_links_somebody_is_told_how_they_come(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await here.start("controller", metrics=LEADER)
        assert await here.run("gateways", "-o", "json") == 0
        printed = capsys.readouterr()
        assert msgspec.json.decode(printed.out) == {"gateways": []}
        assert printed.err == "there is no Link in this cluster; `isthmus link` makes one\n"


async def test_a_link_that_is_not_there_is_named(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await three(here.east)
        assert await here.run("gateways", "west", "wset") == 1
    said = "isthmus: there is no Link wset in this cluster; known are: new, north, west\n"
    assert capsys.readouterr().err == said


async def test_where_it_is_not_installed_that_is_said(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await uninstalled(here.east, "links")
        assert await here.run("gateways") == 1
    assert "knows no Links: Isthmus is not installed in it" in capsys.readouterr().err


async def test_a_wrong_context_and_no_cluster_are_one_line_each(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.run("gateways", "--context", "none") == 1
        assert "there is no context none" in capsys.readouterr().err
        desk = here.desk
    assert await desk.run("gateways") == 75
    assert capsys.readouterr().err.count("\n") == 1


def shown(text: str) -> Numbers:
    return numbers(text, probed.PAGE.names)


def to_west(status: str | None) -> Link:
    conditions = () if status is None else (Condition(type="GatewayAlive", status=status),)
    return msgspec.structs.replace(link(), status=LinkStatus(conditions=conditions, mirrors=1))


@pytest.mark.parametrize(
    "status, measured, expected",
    [
        pytest.param("True", LEADER, (True, 1.24), id="both agree"),
        pytest.param("False", LEADER, (True, 1.24), id="a probe is newer than the status"),
        pytest.param(
            "True",
            LEADER.replace('"west"} 1.0', '"west"} 0.0'),
            (False, None),
            id="what is down has no latency",
        ),
        pytest.param("Unknown", LEADER, (None, None), id="no probe was conclusive yet"),
        pytest.param(None, LEADER, (None, None), id="nobody has looked at it"),
        pytest.param("True", "", (True, None), id="nothing was measured"),
    ],
)
def test_how_a_gateway_is(
    status: str | None, measured: str, expected: tuple[bool | None, float | None]
) -> None:
    (one,) = probed.judged([to_west(status)], probed.measured([shown(measured)]))
    assert (one.alive, one.latency) == expected
