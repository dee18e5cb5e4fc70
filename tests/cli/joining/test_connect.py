"""``isthmus connect``: both ends or neither, as often as one likes, and in words if it fails."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from isthmus.cli.joining import connecting, connectviews
from isthmus.cli.joining.connecting import End, Journal, Outcome, Step, Wish
from isthmus.cli.joining.gateway import Said
from isthmus.cli.joining.scope import Scope
from isthmus.cli.joining.sides import NotNow, Unfit, seen
from isthmus.cli.progress import Progress
from isthmus.embedded.faults.effects import failing, hanging
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.kube.transport import Request, Response
from isthmus.model.names import CONTROLLER
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_DEFINITIONS,
    SERVICES,
    Place,
    VirtualClock,
    controlling,
    exported,
    settled,
)
from tests.apps.test_catalogue import Way, offering
from tests.cli.joining.desk import Desk, desk, give_address, installed, rule
from tests.support.transports import Intercepting

Printed = pytest.CaptureFixture[str]

ONE_WAY = Wish(settings={}, scope=Scope())
BOTH = Wish(settings={}, scope=Scope(), both=True)


@dataclass
class Stage:
    """East and west as an operator reaches them, and what the operator has written."""

    east: Place
    west: Place
    writes: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    journal: Journal = field(default_factory=Journal)

    async def end(self, place: Place, gateway: Said | None = None) -> End:
        async def note(request: Request) -> Response | None:
            stored = request.method != "GET" and ("dryRun", "All") not in request.query
            if stored and "accessreviews" not in request.path:
                self.writes.append(f"{request.method} {request.path} in {place.name}")
            return None

        transport = Intercepting(place.cluster.transport(), note)
        client = Client(transport, clock=VirtualClock())
        side = await seen(client, place.name, "isthmus")
        return End(side, side.installation.cluster, gateway or Said())

    async def steps(self, wish: Wish = ONE_WAY) -> list[Step]:
        return await connecting.rehearse(await self.end(self.east), await self.end(self.west), wish)

    async def connect(self, wish: Wish = ONE_WAY, within: float = 60) -> Outcome:
        self.writes.clear()
        self.journal = Journal()
        said: list[str] = []
        await connecting.carry_out(await self.steps(wish), self.journal, said.append)
        assert said == [f"{one} {one.change.outcome}" for one in self.journal.done]
        progress = Progress(self.live.append)
        return await connecting.settle(self.journal.done, progress, VirtualClock(), within)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(str(one), one.change.outcome) for one in self.journal.done]


async def stage() -> Stage:
    return Stage(await installed("east", 0), await installed("west", 1))


async def test_a_link_is_ready_and_a_grant_accepted_in_the_end() -> None:
    here, way = await stage(), Way()
    await here.west.create(SERVICES, exported("web"))
    async with offering(here.west, way), controlling(here.east, catalogue=way):
        outcome = await here.connect()
        assert outcome.is_good
        assert here.outcomes == [
            ("grant.isthmus.dev/east in west", "created"),
            ("link.isthmus.dev/west in east", "created"),
        ]
        assert connectviews.rendered(outcome, "table") == "east imports what west exports\n"
        assert await here.east.condition("Ready") == ("True", "Ready")
        await settled(here.east, ["web-west"])

        assert (await here.connect()).is_good
        assert here.outcomes == [
            ("grant.isthmus.dev/east in west", "unchanged"),
            ("link.isthmus.dev/west in east", "unchanged"),
        ]
        assert here.writes == []
    assert any(line.startswith("waiting for ") for line in here.live)


async def test_both_ways() -> None:
    here = await stage()
    assert not (await here.connect(BOTH, within=0)).is_good
    assert here.outcomes == [
        ("grant.isthmus.dev/east in west", "created"),
        ("grant.isthmus.dev/west in east", "created"),
        ("link.isthmus.dev/west in east", "created"),
        ("link.isthmus.dev/east in west", "created"),
    ]
    links = [await here.east.link("west"), await here.west.link("east")]
    assert [one["spec"]["gateway"]["addresses"] for one in links] == [
        ["203.0.113.9"],
        ["203.0.113.1"],
    ]
    await here.connect(BOTH, within=0)
    assert here.writes == []


async def test_without_controllers_it_says_what_nobody_has_looked_at() -> None:
    here = await stage()
    outcome = await here.connect(within=10)
    assert (outcome.is_good, outcome.is_final) == (False, False)
    assert connectviews.trouble(outcome, 10).splitlines() == [
        "grant.isthmus.dev/east in west is not ready: NotSeenYet: no controller has looked at it",
        "  hint: is a controller running there? kubectl -n isthmus get pods shows it",
        "link.isthmus.dev/west in east is not ready: NotSeenYet: no controller has looked at it",
        "  hint: is a controller running there? kubectl -n isthmus get pods shows it",
        "isthmus: not connected after 10 s; the same command goes on from here",
    ]


async def test_a_link_that_cannot_connect_says_why_in_its_own_words() -> None:
    here = await stage()
    async with controlling(here.west, seed=9), controlling(here.east):
        outcome = await here.connect(within=60)
        assert await here.east.condition("Ready") == ("False", "Unreachable")
    text = connectviews.trouble(outcome, 60)
    assert (
        "link.isthmus.dev/west in east is not ready: Unreachable: there is no way to west" in text
    )
    assert "  hint: can this cluster reach that address and port?" in text


async def test_what_no_waiting_mends_ends_it_at_once() -> None:
    here = await stage()
    await here.connect(within=0)
    await here.east.delete(LINKS, "west")
    progress, clock = Progress(here.live.append), VirtualClock()
    began = clock.now()
    outcome = await connecting.settle(here.journal.done, progress, clock, 3600)
    assert outcome.is_final
    assert clock.now() - began < 10
    assert "is not ready: Deleted: somebody has deleted it" in connectviews.trouble(outcome, 3600)


async def test_an_api_that_stutters_is_waited_for() -> None:
    here, way = await stage(), Way()
    async with offering(here.west, way), controlling(here.east, catalogue=way):
        await connecting.carry_out(await here.steps(), here.journal, here.live.append)
        here.west.cluster.faults.add(failing(503), _reads_the_grant, times=3)
        outcome = await connecting.settle(
            here.journal.done, Progress(here.live.append), VirtualClock(), 60
        )
    assert outcome.is_good
    assert any("Unavailable" in line for line in here.live)


def _reads_the_grant(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith("/grants/east")


def _writes(kind: str) -> Callable[[Request], bool]:
    def matches(request: Request) -> bool:
        stored = request.method == "PATCH" and ("dryRun", "All") not in request.query
        return stored and f"/{kind}/" in request.path

    return matches


async def test_if_the_second_write_fails_the_first_is_told_and_the_same_goes_on() -> None:
    here = await stage()
    here.east.cluster.faults.add(failing(503), _writes("links"), times=1)
    with pytest.raises(NotNow) as failed:
        await here.connect()
    assert str(failed.value).startswith("east: apply links west: injected (503); ")
    assert str(failed.value).endswith(
        "; grant.isthmus.dev/east in west is created; link.isthmus.dev/west in east was being "
        "written; the same command goes on from here"
    )
    await here.connect(within=0)
    assert [outcome for _, outcome in here.outcomes] == ["unchanged", "created"]
    assert len(here.writes) == 1


async def test_what_an_api_server_would_refuse_is_found_before_anything_is_written() -> None:
    here = await stage()
    here.east.cluster.faults.add(failing(403, message="policy"), _rehearses_a_link)
    with pytest.raises(Unfit, match=r"^east: apply links west: policy"):
        await here.connect()
    assert (here.writes, await here.west.all(GRANTS)) == ([], [])


def _rehearses_a_link(request: Request) -> bool:
    return request.path.endswith("/links/west") and ("dryRun", "All") in request.query


async def _forbid(here: Stage, wish: Wish = ONE_WAY) -> str:
    with pytest.raises(Unfit) as refused:
        await here.connect(wish)
    assert here.writes == []
    assert await here.west.all(GRANTS) == await here.east.all(LINKS) == []
    return str(refused.value)


async def test_two_contexts_of_one_cluster_are_no_pair() -> None:
    east = await installed("east", 0)
    here = Stage(east, east)
    assert await _forbid(here) == "the contexts east and east lead to the same cluster"


async def test_clusters_that_cannot_be_told_apart_or_trust_nobody_are_refused() -> None:
    here = await stage()
    east, west = await here.end(here.east), await here.end(here.west)
    with pytest.raises(Unfit, match="east and west are both called west; the name stands in cert"):
        connecting.check(replace(east, name="west"), west)
    other = replace(west.side.installation, mesh_domain="acme")
    with pytest.raises(Unfit, match="east is of the mesh domain isthmus, west of acme; clusters"):
        connecting.check(east, replace(west, side=replace(west.side, installation=other)))


async def test_without_an_address_nothing_is_written() -> None:
    here = await stage()
    await give_address(here.west, "")
    assert (await _forbid(here)).startswith("west: Service isthmus/isthmus-gateway of type LoadB")
    await give_address(here.west, "203.0.113.9")
    await give_address(here.east, "")
    assert (await _forbid(here, BOTH)).startswith("east: Service isthmus/isthmus-gateway")


CONNECT = ("connect", "--from", "east", "--to", "west")
READS = (
    rule("", "namespaces", "get"),
    rule("", "services", "get"),
    rule("apps", "deployments", "get"),
    rule("isthmus.dev", "links", "get", "list"),
    rule("isthmus.dev", "grants", "get", "list"),
)


@pytest.mark.sockets
async def test_who_may_do_only_half_of_it_does_none_of_it(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.become(here.east, *READS)
        assert await here.run(*CONNECT, "--both") == 1
        assert capsys.readouterr().err == (
            "isthmus: east: you may not create, patch links.isthmus.dev; "
            "east: you may not create, patch grants.isthmus.dev; nothing was written\n"
        )
        assert await here.west.all(GRANTS) == []


@pytest.mark.sockets
async def test_mistakes_are_named(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        for words, code, complaint in (
            ("connect --from east", 2, "Missing option '--to'"),
            ("connect --from east --to north", 1, "isthmus: north: "),
            ("connect --from east --to west --to-name north", 1, "west: --to-name says 'north', b"),
            ("connect --from east --to west --set a=b", 2, "there is no field 'a'"),
            (
                "connect --from east --to west --to-service a",
                2,
                "a is not written as namespace/nam",
            ),
            ("connect --from east --to west --timeout 1", 2, "not a duration such as 30s or 2m"),
        ):
            assert await here.run(*words.split()) == code
            printed = capsys.readouterr()
            assert complaint in printed.err
            assert printed.out == ""
        await here.west.client.delete(KINDS["Deployment"], Key("isthmus", CONTROLLER))
        assert await here.run(*CONNECT) == 1
        assert "west: the cluster does not show what it is called" in capsys.readouterr().err
        await here.west.delete(PLAIN_DEFINITIONS, "links.isthmus.dev")
        assert await here.run(*CONNECT) == 1
        assert "west: this cluster knows no Links: Isthmus is not" in capsys.readouterr().err
        assert await here.east.all(LINKS) == []


KEYS = {"context", "cluster", "kind", "name", "outcome", "ready", "reason", "message"}


@pytest.mark.sockets
async def test_it_is_typed_and_typed_again(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        words = (*CONNECT, "--timeout", "0s", "--set", "enableHeadlessServices=true")
        for outcome in ("created", "unchanged"):
            assert await here.run(*words) == 75
            printed = capsys.readouterr()
            assert printed.out == (
                f"grant.isthmus.dev/east in west {outcome}\n"
                f"link.isthmus.dev/west in east {outcome}\n"
            )
            assert printed.err.endswith("the same command goes on from here\n")
        assert await here.run(*words, "-o", "json") == 75
        shown = json.loads(capsys.readouterr().out)
        assert shown["connected"] is False
        assert [one.keys() for one in shown["objects"]] == [KEYS | {"hint"}] * 2
        await _accept(here)
        assert await here.run(*words) == 0
        assert capsys.readouterr().out.endswith("east imports what west exports\n")
        assert await here.run(*words, "-o", "json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["connected"] is True
        assert [one.keys() for one in shown["objects"]] == [KEYS] * 2


async def _accept(here: Desk) -> None:
    """Say what controllers would."""
    for place, kind, name, condition in (
        (here.east, LINKS, "west", "Ready"),
        (here.west, GRANTS, "east", "Accepted"),
    ):
        said = {"type": condition, "status": "True", "reason": condition, "observedGeneration": 1}
        patch: JsonObject = {"status": {"conditions": [said]}}
        await place.client.merge_patch(kind, Key("", name), patch, "status")


@pytest.mark.sockets
async def test_ctrl_c_says_what_was_done_and_that_the_same_goes_on(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus", "--kubeconfig", str(here.config), *CONNECT),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert child.stderr is not None
        assert (await child.stderr.readline()).startswith(b"waiting for grant.isthmus.dev/east in ")
        child.send_signal(signal.SIGINT)
        printed, said = await child.communicate()
        assert child.returncode == 130
        assert said.decode().rstrip() == (
            "interrupted: grant.isthmus.dev/east in west is created; link.isthmus.dev/west in "
            "east is created; the same command goes on from here"
        )
        assert len(printed.splitlines()) == 2
        await _accept(here)
        assert await here.run(*CONNECT) == 0


@pytest.mark.sockets
async def test_ctrl_c_in_the_middle_of_a_write_names_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        faults = here.east.cluster.faults
        reached = asyncio.Event()

        def matches(request: Request) -> bool:
            if _writes("links")(request):
                reached.set()
                return True
            return False

        faults.add(hanging(faults), matches)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus", "--kubeconfig", str(here.config), *CONNECT),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await reached.wait()
        child.send_signal(signal.SIGINT)
        _, said = await child.communicate()
        faults.clear()
        assert said.decode().rstrip() == (
            "interrupted: grant.isthmus.dev/east in west is created; link.isthmus.dev/west in "
            "east was being written; the same command goes on from here"
        )
