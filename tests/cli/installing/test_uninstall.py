"""``isthmus uninstall``, as it is typed: nothing of ours is left, and everything of others'."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.cli.exits import TRY_AGAIN
from isthmus.install.everything import identity
from isthmus.kube.plain import KINDS
from isthmus.model.wire import JsonObject
from tests.apps.clusters import GRANTS, LINKS, PLAIN_SECRETS, link
from tests.cli.installing.stage import Stage, stage
from tests.support import kubectl
from tests.support.waiting import until

Printed = pytest.CaptureFixture[str]
pytestmark = pytest.mark.sockets
DEPLOYMENTS, NAMESPACES, PODS = KINDS["Deployment"], KINDS["Namespace"], KINDS["Pod"]
SERVICES = KINDS["Service"]


async def names(here: Stage) -> set[str]:
    """What there is of us."""
    found: set[str] = set()
    for kind in ("Deployment", "Service", "ClusterRole", "CustomResourceDefinition", "Namespace"):
        found |= {f"{kind}/{one['metadata']['name']}" for one in await here.west.all(KINDS[kind])}
    return found


async def test_uninstalling_leaves_what_was_there_before(
    tmp_path: Path, capsys: Printed, golden: Callable[[str, str], None]
) -> None:
    async with stage(tmp_path) as here:
        before = await names(here)
        assert await here.install("--ha") == 0
        capsys.readouterr()
        assert await here.run("uninstall") == 0
        listed = [identity(one) for one in yaml.safe_load_all(capsys.readouterr().out)]
        assert await here.run("uninstall", "--apply") == 0
        golden("uninstall.txt", capsys.readouterr().out)
        assert await names(here) == before
        assert len(listed) == len(set(listed))
        assert await here.run("uninstall", "--apply", "-o", "json") == 0
        assert capsys.readouterr().err == "nothing of Isthmus is installed in isthmus\n"


async def test_uninstalling_waits_for_links_and_leaves_what_is_others(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        await here.west.create(LINKS, link("east"))
        await here.west.create(GRANTS, {"metadata": {"name": "east"}, "spec": {"cluster": "east"}})
        mine = {"metadata": {"name": "mine", "namespace": "isthmus"}}
        await here.west.create(PLAIN_SECRETS, mine)
        capsys.readouterr()
        for words in ((), ("--apply",)):
            assert await here.run("uninstall", *words) == 1
            printed = capsys.readouterr()
            assert printed.err.startswith("isthmus: Links exist: east. ")
            assert printed.out == ""
        assert await here.run("uninstall", "--apply", "--force", "-o", "yaml") == 0
        printed = capsys.readouterr()
        said = yaml.safe_load(printed.out)
        assert "namespace/isthmus stays: with it would go secret/mine" in said["stays"]
        assert {one["kind"] for one in said["deleted"]} >= {"Deployment", "ClusterRole", "Secret"}
        for resource, name in ((LINKS, "east"), (GRANTS, "east"), (NAMESPACES, "isthmus")):
            assert await here.west.get(resource, name) is not None
        assert await here.west.get(PLAIN_SECRETS, "mine", "isthmus") is not None
        assert await here.west.all(DEPLOYMENTS) == []


async def test_what_the_whole_cluster_shares_stays_with_whom_it_belongs_to(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        await here.west.create(LINKS, link("east"))
        before = await names(here)
        capsys.readouterr()
        assert await here.run("uninstall", "--namespace", "other", "--apply") == 0
        printed = capsys.readouterr()
        assert printed.out == ""
        stays = "clusterrolebinding/isthmus-controller stays: it belongs to Isthmus in isthmus"
        assert printed.err.startswith("nothing of Isthmus is installed in other\n")
        assert stays in printed.err
        assert await names(here) == before


async def test_a_namespace_that_was_there_before_stays(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await here.west.create(NAMESPACES, {"metadata": {"name": "isthmus"}})
        assert await here.install() == 0
        assert await here.run("uninstall", "--apply") == 0
        assert "namespace/isthmus stays: it does not carry" in capsys.readouterr().err
        assert await here.west.get(NAMESPACES, "isthmus") is not None


async def test_what_comes_while_pods_end_stays_with_what_holds_it(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        ours = {"app.kubernetes.io/part-of": "isthmus"}
        slow = {
            "metadata": {"name": "slow", "namespace": "isthmus", "labels": ours},
            "spec": {"containers": [{"name": "slow", "image": "slow"}]},
        }
        await here.west.create(PODS, slow)
        leaving = asyncio.create_task(here.run("uninstall", "--apply"))
        await until(lambda: here.west.all(DEPLOYMENTS), lambda found: not found)
        mine = {"metadata": {"name": "mine", "namespace": "isthmus"}}
        await here.west.create(PLAIN_SECRETS, mine)
        await here.west.create(GRANTS, {"metadata": {"name": "east"}, "spec": {"cluster": "east"}})
        await here.west.delete(PODS, "slow", "isthmus")
        assert await leaving == 0
        assert "namespace/isthmus stays: with it would go secret/mine" in capsys.readouterr().err
        assert await here.west.get(PLAIN_SECRETS, "mine", "isthmus") is not None
        assert await here.west.get(GRANTS, "east") is not None


HELD = {"metadata": {"finalizers": ["example.com/load-balancer"]}}
FREE: JsonObject = {"metadata": {"finalizers": None}}


async def is_ending(here: Stage) -> bool:
    found = await here.west.get(NAMESPACES, "isthmus")
    return found is not None and "deletionTimestamp" in found["metadata"]


async def test_uninstalling_ends_when_everything_is_gone_and_installing_can_follow(
    tmp_path: Path, capsys: Printed
) -> None:
    """As a provider's load balancer does it, which has to be taken down before its Service goes."""
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        await here.west.edit(SERVICES, "isthmus-gateway", HELD, namespace="isthmus")
        capsys.readouterr()
        leaving = asyncio.create_task(here.run("uninstall", "--apply"))
        await until(lambda: is_ending(here), bool)
        await until(lambda: told(capsys), lambda text: "namespace/isthmus deleted" in text)
        assert not leaving.done()
        await here.west.edit(SERVICES, "isthmus-gateway", FREE, namespace="isthmus")
        assert await leaving == 0
        assert await here.west.get(NAMESPACES, "isthmus") is None
        assert await here.install() == 0


async def test_what_does_not_go_in_time_is_named_and_installing_waits_for_it(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        await here.west.edit(SERVICES, "isthmus-gateway", HELD, namespace="isthmus")
        capsys.readouterr()
        for words in (("uninstall",), ("install", "--cluster-name", "west")):
            assert await here.run(*words, "--apply", "--timeout", "1s") == TRY_AGAIN
            text = capsys.readouterr().err
            assert "isthmus: namespace/isthmus: deleted, and not gone after 1 s" in text
        coming = asyncio.create_task(here.install())
        await here.west.edit(SERVICES, "isthmus-gateway", FREE, namespace="isthmus")
        assert await coming == 0
        assert not await is_ending(here)
        assert len(await here.west.all(DEPLOYMENTS)) == 3


async def told(capsys: Printed) -> str:
    return capsys.readouterr().out


@pytest.mark.skipif(not kubectl.found(), reason="there is no kubectl here")
async def test_what_is_printed_can_be_piped_into_kubectl(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        before = await names(here)
        here.config.rename(tmp_path / "kubeconfig")
        typed = kubectl.Kubectl(kubectl.found()[-1], tmp_path)
        here = replace(here, config=typed.kubeconfig)
        capsys.readouterr()
        words = ["install", "--cluster-name", "west", "--anchor", str(here.anchor)]
        assert main.run(words) == 0
        manifests = capsys.readouterr().out
        await typed("apply", "--server-side", "-f", "-", stdin=manifests)
        # Whoever installs by kubectl first can go on by the command.
        assert await here.install() == 0
        assert "the issuer of west.isthmus stays" in capsys.readouterr().out
        assert await here.run("uninstall") == 0
        await typed("delete", "-f", "-", stdin=capsys.readouterr().out)
        assert await names(here) == before
