"""``isthmus why`` as it is typed, where clusters are missing, closed, or other than expected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from isthmus import install
from isthmus.cli import main
from isthmus.cli.checking.asking import Answer, NothingSeen, Question, ask
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.walking.meaning import Unclear
from isthmus.cli.checking.walking.walk import first_broken
from isthmus.cli.where import Where
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import serve
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.errors import UnknownContext
from isthmus.kube.plain import KINDS
from isthmus.model.names import EXPORTED
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from tests.support.machine import service

pytestmark = pytest.mark.sockets


@dataclass
class Two:
    """East and west, in which Isthmus is installed, and nothing runs."""

    kubeconfig: Path
    east: Client
    west: Client

    async def why(self, name: str, context: str = "east", **question: Json) -> Answer:
        where = Where(str(self.kubeconfig), context)
        return await ask(where, Question(service=name, **question))

    async def verdict(self, name: str, context: str = "east", **question: Json) -> tuple[str, str]:
        found = first_broken((await self.why(name, context, **question)).steps)
        return ("", "") if found is None else (found.name, found.reason)


EAST: JsonObject = {"metadata": {"name": "east"}, "spec": {"cluster": "east"}}  # a Grant


@asynccontextmanager
async def two(
    folder: Path, *, installed: bool = True, headless: bool = False
) -> AsyncIterator[Two]:
    east, west = Cluster("east"), Cluster("west")
    async with serve(east) as one, serve(west) as other:
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig([one.entry(), other.entry()])))
        made = Two(path, Client(east.transport()), Client(west.transport()))
        for name, client in (("east", made.east), ("west", made.west)):
            for obj in install.objects(Values(cluster_name=name)) if installed else ():
                await client.apply(KINDS[obj["kind"]], obj)
        web = service("web", "web")
        web["metadata"] |= {"namespace": "default", "labels": {EXPORTED: "true"}}
        web["spec"] |= {"clusterIP": "None"} if headless else {}
        await made.west.create(KINDS["Service"], web)
        yield made


def link(name: str, **spec: Json) -> JsonObject:
    given = {"gateway": {"addresses": ["203.0.113.9"]}, **spec}
    return {"metadata": {"name": name}, "spec": given}


async def test_both_ends_are_found_however_they_are_named(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        await made.west.create(KINDS["Grant"], EAST)
        for question in (
            {"target": "west"},
            {"source": "east", "target": "west"},
            {"source": "east", "context": "west"},
        ):
            assert await made.verdict("web", **question) == ("link", "LinkMissing"), question
        await made.east.create(KINDS["Link"], link("west"))
        # Nobody has named the target: the Link has, and there is a context of that name.
        assert await made.verdict("web-west") == ("link", "ControllerDown")
        assert await made.verdict("web") == ("link", "ControllerDown")


@pytest.mark.parametrize("name", ["web", "web-west", "web-0.web-west", "web-0.web"])
async def test_a_link_that_is_missing_is_named_in_every_spelling(tmp_path: Path, name: str) -> None:
    async with two(tmp_path, headless=True) as made:
        await made.west.create(KINDS["Grant"], EAST)
        answer = await made.why(name, target="west")
        found = first_broken(answer.steps)
        assert found is not None
        assert (found.name, found.reason) == ("link", "LinkMissing"), found
        headless = " --set enableHeadlessServices=true" if "." in name else ""
        assert found.fix == (
            f"isthmus --context west link --cluster-name west{headless} | "
            "kubectl --context east apply -f -"
        )
        called = answer.case.called
        assert (called.export, called.mirror) == (
            Key("default", "web"),
            Key("default", "web-west"),
        )
        # Nobody says which cluster that is: neither whoever asks, nor a Link.
        with pytest.raises(Unclear, match=r"there is no Link here .*; name the target with --to"):
            await made.why(name)


async def test_a_service_that_is_called_like_a_mirror_is_found_all_the_same(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        plain = service("db-west", "db")
        plain["metadata"] |= {"namespace": "default"}
        await made.west.create(KINDS["Service"], plain)
        answer = await made.why("db-west", target="west")
        assert answer.case.called.export == Key("default", "db-west")


async def test_a_source_that_is_no_context_is_a_name(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        answer = await made.why("web", "west", source="north")
        assert (answer.case.source_name, answer.case.target_name) == ("north", "west")
        assert isinstance(answer.case.source, Unseen)
        found = first_broken(answer.steps)
        assert found is not None
        assert (found.name, found.reason) == ("grant", "NoGrant")
        assert found.fix == "isthmus --context west allow north --to-service default/web --apply"
        assert found.hint.startswith("it lets everybody in north call default/web and nothing else")


async def test_a_context_that_leads_elsewhere_is_not_taken_for_the_target(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        await made.east.create(KINDS["Link"], link("west"))
        status = {"status": {"clusterUID": "another"}}
        await made.east.merge_patch(KINDS["Link"], Key("", "west"), status, "status")
        answer = await made.why("web-west")
        assert isinstance(answer.case.target, Unseen)
        assert "another cluster" in answer.case.target.why


async def test_which_link_is_meant_has_to_be_said(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        for name in ("west", "north"):
            await made.east.create(KINDS["Link"], link(name))
        with pytest.raises(Unclear, match="--to"):
            await made.why("web")
        assert (await made.why("web-west")).case.target_name == "west"


async def test_a_cluster_without_our_kinds_shows_nothing(tmp_path: Path) -> None:
    async with two(tmp_path, installed=False) as made:
        with pytest.raises(NothingSeen, match="links"):
            await made.why("web")
        # The target has the Service all the same.
        answer = await made.why("web", target="west")
        steps = {one.name: one.outcome for one in answer.steps}
        assert (steps["export"], steps["link"]) == ("ok", "unknown")


async def test_a_context_that_does_not_exist(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        with pytest.raises(UnknownContext, match="nowhere"):
            await made.why("web", "nowhere")


async def test_clusters_that_do_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with two(tmp_path) as made:
        pass
    arguments = ["why", "web", "--kubeconfig", str(made.kubeconfig)]
    code = await asyncio.to_thread(main.run, arguments)
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert printed.err.startswith("isthmus: neither cluster can be looked at: context east: ")
    assert "connection refused" in printed.err.lower()


async def test_the_command_exits_with_what_it_has_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with two(tmp_path) as made:
        arguments = ["why", "web", "--kubeconfig", str(made.kubeconfig), "--to", "west"]
        assert await asyncio.to_thread(main.run, arguments) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "grant is broken: NoGrant" in printed.out
    assert "fix: isthmus --context west allow east --to-service default/web --apply" in printed.out


async def test_whoever_may_see_nothing_is_told_so(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        config = yaml.safe_load(made.kubeconfig.read_text())
        for user in config["users"]:
            user["user"]["token"] = "nobody"
        made.kubeconfig.write_text(yaml.safe_dump(config))
        with pytest.raises(NothingSeen, match="context east"):
            await made.why("web")
