"""``isthmus check`` as it is typed, against embedded clusters in every state of an installation."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from isthmus import install
from isthmus.cli import main
from isthmus.cli.checking import examining
from isthmus.cli.checking.checks import Check, failed, passed, wrong
from isthmus.cli.progress import Progress
from isthmus.cli.where import Where
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.objects import Key
from isthmus.model.reviews import TokenRequest, TokenRequestSpec
from isthmus.model.wire import JsonObject
from tests.apps.clusters import VirtualClock

VALUES = Values(cluster_name="west")
KIND, GRANTS = "CustomResourceDefinition", "grants.isthmus.dev"


@dataclass
class Typed:
    """A cluster, and the command that is typed about it."""

    cluster: Cluster
    kubeconfig: Path
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(self.cluster.transport())

    async def bring(self, objects: Sequence[JsonObject]) -> None:
        for one in objects:
            await self.client.apply(KINDS[one["kind"]], one)

    async def check(self, *, is_before: bool = False) -> list[Check]:
        where = Where(str(self.kubeconfig), "west")
        return list(await examining.run(where, examining.Wanted(is_before=is_before)))


@asynccontextmanager
async def cluster(folder: Path, user: JsonObject | None = None) -> AsyncIterator[Typed]:
    west = Cluster("west")
    async with serve(west) as served:
        config = served.kubeconfig()
        if user is not None:
            token = await _token(west, user)
            config["users"][0]["user"]["token"] = token
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        yield Typed(west, path)


async def _token(west: Cluster, rules: JsonObject) -> str:
    """A service account that may do this and no more, and a token of it."""
    client = Client(west.transport())
    where = {"namespace": "default", "name": "viewer"}
    await client.create(KINDS["ServiceAccount"], {"metadata": where})
    await client.create(KINDS["ClusterRole"], {"metadata": {"name": "viewer"}, **rules})
    binding = {
        "metadata": {"name": "viewer"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "viewer",
        },
        "subjects": [{"kind": "ServiceAccount", **where}],
    }
    await client.create(KINDS["ClusterRoleBinding"], binding)
    wanted = TokenRequest(spec=TokenRequestSpec())
    return (await client.request_token(Key("default", "viewer"), wanted)).status.token


def by_name(found: Sequence[Check]) -> dict[str, Check]:
    return {one.name: one for one in found}


@pytest.mark.sockets
async def test_a_cluster_without_isthmus_is_checked_for_whether_it_could_have_it(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as typed:
        found = await typed.check()
        assert not failed(found)
        assert {one.group for one in found} == {"kubeconfig", "kubernetes-api", "pre-install"}
        assert await typed.check(is_before=True) == found


@pytest.mark.sockets
async def test_an_installation_that_is_not_complete(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        objects = install.objects(VALUES)
        await typed.bring([one for one in objects if one["kind"] != "Deployment"])
        found = by_name(await typed.check())
    assert found["the controller may do what it has to"].outcome == "ok"
    for role in ("controller", "gateway", "egress"):
        assert found[f"the {role} runs"].outcome == "error"
        assert "isthmus install --apply" in found[f"the {role} runs"].hint
    assert found["a controller leads"].outcome == "error"
    assert (
        "isthmus-issuer does not exist"
        in found["issuer and anchors fit together, and this cluster"].detail
    )


@pytest.mark.sockets
async def test_kinds_that_are_missing(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        objects = install.objects(VALUES)
        await typed.bring([one for one in objects if one["kind"] == "Namespace"])
        found = await typed.check()
    names = {one.name for one in found if one.outcome == "error"}
    assert "links.isthmus.dev is defined as this version needs it" in names


@pytest.mark.sockets
async def test_a_kind_that_is_missing_is_not_taken_for_a_missing_right(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        objects = install.objects(VALUES)
        await typed.bring([one for one in objects if one["metadata"]["name"] != GRANTS])
        found = by_name(await typed.check())["every Grant is understood"]
    assert found.detail == "grants.isthmus.dev is not defined here"
    assert found.hint == "isthmus install --apply brings it"


@pytest.mark.sockets
async def test_a_namespace_in_which_nothing_is_installed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        where, wanted = Where(str(typed.kubeconfig), "west"), examining.Wanted(namespace="nosuch")
        await typed.bring([one for one in install.objects(VALUES) if one["kind"] == KIND])
        last = list(await examining.run(where, wanted))[-1]
        assert last.name == "Isthmus is installed in namespace nosuch"
        assert last.detail.startswith("there is no such namespace; only kinds of Isthmus are")
        await typed.bring(install.objects(VALUES))
        found = list(await examining.run(where, wanted))
    assert [one.name for one in found if one.outcome != "ok"] == [last.name]
    assert found[-1].detail == "nothing runs there; it is installed in isthmus"
    assert found[-1].hint == "isthmus check --namespace isthmus"


@pytest.mark.sockets
async def test_a_right_that_the_controller_has_lost_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        await typed.bring([one for one in install.objects(VALUES) if one["kind"] != "Deployment"])
        key = Key("", "isthmus-controller")
        role = await typed.client.get(KINDS["ClusterRole"], key)
        rules = [one for one in role["rules"] if "services" not in one["resources"]]
        await typed.client.merge_patch(KINDS["ClusterRole"], key, {"rules": rules})
        found = by_name(await typed.check())["the controller may do what it has to"]
    assert found.outcome == "error"
    assert found.detail == ("it may not list services, watch services, create services and 2 more")


@pytest.mark.sockets
async def test_whoever_may_only_look_is_told_what_an_installation_takes(tmp_path: Path) -> None:
    look = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]}
    async with cluster(tmp_path, look) as typed:
        found = by_name(await typed.check())["you may create what an installation consists of"]
    assert found.outcome == "error"
    assert "you may not create, patch namespaces" in found.detail
    assert "customresourcedefinitions.apiextensions.k8s.io" in found.detail


@pytest.mark.sockets
async def test_whoever_may_look_at_little_is_told_what_was_not_looked_at(tmp_path: Path) -> None:
    names = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
    async with cluster(tmp_path, {"rules": [names]}) as typed:
        await typed.bring([one for one in install.objects(VALUES) if one["kind"] == "Namespace"])
        found = await typed.check()
    unseen = [one for one in found if one.outcome == "warning"]
    assert len(unseen) >= 8
    assert all("forbidden" in one.detail.lower() or one.detail for one in unseen)
    assert not any(one.outcome == "error" for one in found)


@pytest.mark.sockets
async def test_another_cluster_that_cannot_be_reached_is_one_more_failure(tmp_path: Path) -> None:
    async with cluster(tmp_path) as typed:
        await typed.bring([one for one in install.objects(VALUES) if one["kind"] != "Deployment"])
        where = Where(str(typed.kubeconfig), "west")
        found = await examining.run(where, examining.Wanted(others=("nowhere",)))
    last = found[-1]
    assert (last.group, last.name) == ("nowhere: kubeconfig", "context can be used")
    assert "there is no context nowhere" in last.detail


class Lines:
    """What a terminal shows."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text


def tries(*outcomes: bool) -> Callable[[], Awaitable[list[Check]]]:
    """Looks that find something wrong, or nothing."""
    left = list(outcomes)

    async def look() -> list[Check]:
        is_well = left.pop(0) if len(left) > 1 else left[0]
        check = passed("g", "it runs") if is_well else wrong("g", "it runs", "no", "wait")
        return [check]

    return look


async def test_whoever_waits_is_told_for_what_until_all_is_well() -> None:
    clock, lines = VirtualClock(), Lines()
    found = await examining.settled(
        tries(False, False, True), 60.0, Progress(lines.write, 80), clock
    )
    assert not failed(found)
    assert clock.now() == pytest.approx(2 * examining.PAUSE)
    assert "waiting for 1: it runs (60 s left)" in lines.text
    assert "waiting for 1: it runs (58 s left)" in lines.text
    assert lines.text.endswith("\r\x1b[K")


async def test_nobody_waits_for_ever() -> None:
    clock = VirtualClock()
    found = await examining.settled(tries(False), 5.0, None, clock)
    assert failed(found)
    assert clock.now() == pytest.approx(5.0)


async def test_whoever_does_not_want_to_wait_does_not() -> None:
    clock = VirtualClock()
    assert failed(await examining.settled(tries(False, True), 0.0, None, clock))
    assert clock.now() == 0.0


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main.run(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_kubeconfig_that_is_missing_is_a_failed_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "none")
    code, out, err = run(["check", "--kubeconfig", missing, "-o", "json"], capsys)
    assert (code, err) == (1, "")
    document = json.loads(out)
    assert document["success"] is False
    assert set(document["checks"][0]) == {"group", "name", "outcome", "detail", "hint"}


@pytest.mark.parametrize("command", ["check", "why"])
def test_help_shows_how_to_type_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([command, "--help"], capsys)
    assert code == 0
    assert f"isthmus --context east {command}" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--wait", "soon"],
        ["check", "--wait", "nan"],
        ["check", "--wait", "inf"],
        ["check", "--wait", "-1"],
        ["why", "web", "-n", "ÜÜ"],
        ["check", "-o", "xml"],
        ["why"],
        ["why", "web", "--account", "curl"],
        ["why", "web", "-o", "short"],
    ],
    ids=" ".join,
)
def test_misuse_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(arguments, capsys)
    assert (code, out) == (2, "")
    assert "Error: " in err
