"""``isthmus link``: the Link that the tutorial pipes into kubectl, and every way to miss it."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.kube.plain import KINDS
from isthmus.model.names import CONTROLLER, GATEWAY
from isthmus.model.objects import Key
from tests.apps.clusters import LINKS, PLAIN_DEFINITIONS
from tests.cli.joining.desk import desk, give_address, rule
from tests.model.test_yamls import BOMB
from tests.support.kubectl import Kubectl, found

pytestmark = pytest.mark.sockets

Printed = pytest.CaptureFixture[str]

GOLDEN = """\
apiVersion: isthmus.dev/v1alpha1
kind: Link
metadata:
  name: west
spec:
  gateway:
    addresses:
    - 203.0.113.9
    port: 4143
  enableHeadlessServices: true
"""
WEST = ("--context", "west", "link")
HEADLESS = ("--set", "enableHeadlessServices=true")


async def test_the_link_leads_to_the_gateway_of_the_cluster_it_is_printed_in(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        assert await here.run(*WEST, "--cluster-name", "west", *HEADLESS) == 0
        assert capsys.readouterr().out == GOLDEN
        assert await here.run(*WEST, *HEADLESS, "-o", "json") == 0
        assert json.loads(capsys.readouterr().out) == yaml.safe_load(GOLDEN)


async def test_a_cluster_is_not_linked_to_itself(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        assert await here.run(*WEST, "--apply", "--from", "west") == 1
        said = "isthmus: the contexts west and west lead to the same cluster\n"
        assert capsys.readouterr().err == said
        assert await here.west.get(LINKS, "west") is None


async def test_who_may_not_see_which_clusters_they_are_links_them_all_the_same(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        links = rule("isthmus.dev", "links", "get", "list", "patch", "create")
        await here.become(here.east, links)
        assert await here.run(*WEST, "--apply", "--from", "east") == 0
        assert capsys.readouterr().out == "link.isthmus.dev/west created in east\n"


async def test_settings_come_from_files_and_words(tmp_path: Path, capsys: Printed) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("probe: {period: 1s}\ngateway: {port: 443}\n")
    words = ("-f", str(values), "--set", "gateway.addresses=a.example", "--set", "probe.timeout=1s")
    async with desk(tmp_path) as here:
        assert await here.run(*WEST, *words) == 0
        assert yaml.safe_load(capsys.readouterr().out)["spec"] == {
            "gateway": {"addresses": ["a.example"], "port": 443},
            "probe": {"period": "1s", "timeout": "1s"},
        }
        assert await here.run(*WEST, *words, "--gateway-address", "b.example") == 0
        spec = yaml.safe_load(capsys.readouterr().out)["spec"]
        assert spec["gateway"] == {"addresses": ["b.example"], "port": 443}


@pytest.mark.parametrize("kubectl", found(), ids=lambda path: path.name)
async def test_the_tutorials_line_links_two_clusters(tmp_path: Path, kubectl: Path) -> None:
    async with desk(tmp_path) as here:
        tool = Kubectl(kubectl, tmp_path)
        tool.kubeconfig.write_text(here.config.read_text())
        command = (
            'isthmus() { "$PYTHON" -m isthmus "$@"; }; '
            'kubectl() { "$KUBECTL" "$@"; }; '
            "isthmus --context west link --cluster-name west --set enableHeadlessServices=true "
            "| kubectl --context east apply -f -"
        )
        environment = {
            "KUBECONFIG": str(tool.kubeconfig),
            "PYTHON": sys.executable,
            "KUBECTL": str(kubectl),
            "HOME": str(tmp_path),
        }
        for expected in ("created", "unchanged"):
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", command),
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            printed, _ = await process.communicate()
            assert printed.decode() == f"link.isthmus.dev/west {expected}\n"
        made = await here.east.link()
        assert made["spec"]["gateway"]["addresses"] == ["203.0.113.9"]
        assert made["spec"]["enableHeadlessServices"] is True


async def test_it_can_be_applied_at_once_and_twice_is_once(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        for expected in ("created", "unchanged"):
            assert await here.run(*WEST, "--apply", "--from", "east") == 0
            assert capsys.readouterr().out == f"link.isthmus.dev/west {expected} in east\n"
        assert await here.west.get(LINKS, "west") is None


async def test_what_others_have_set_is_not_overwritten_unless_it_is_said(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        apply = (*WEST, "--apply", "--from", "east")
        assert await here.run(*apply) == 0
        await here.east.edit(LINKS, "west", {"spec": {"gateway": {"port": 443}}})
        assert await here.run(*apply) == 1
        complaint = capsys.readouterr().err
        assert ".spec.gateway.port" in complaint
        assert "--force-conflicts" in complaint
        assert (await here.east.link())["spec"]["gateway"]["port"] == 443
        assert await here.run(*apply, "--force-conflicts") == 0
        assert (await here.east.link())["spec"]["gateway"]["port"] == 4143


@pytest.mark.parametrize(
    "words, code, complaint",
    [
        ("--cluster-name East", 2, "'East' is not the name of a cluster: lower-case"),
        ("--set enableHeadless=true", 2, "'enableHeadless'; is enableHeadlessServices meant?"),
        ("-f nowhere.yaml", 2, "nowhere.yaml cannot be read: No such file or directory"),
        ("--apply", 2, "--apply and --from CONTEXT go together"),
        ("--gateway-port 0", 2, "0 is not in the range 1<=x<=65535"),
        ("--kubeconfig nowhere", 1, "nowhere"),
    ],
)
def test_mistakes_are_named_before_any_cluster_is_asked(
    capsys: Printed, words: str, code: int, complaint: str
) -> None:
    assert main.run([*WEST, *words.split()]) == code
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("a: b: c", "values.yaml: not valid YAML at line 1, column 5"),
        (BOMB.replace("a9", "gateway"), "values.yaml: line 6: nested too deeply, or too many"),
        ("probe: {}\nprobe: {}", "values.yaml: line 2: the field probe is set twice"),
        ("probe: {}\n---\nprobe: {}", "values.yaml: line 2: a second document starts"),
        ("probe: !x {}", "values.yaml: line 1: the tag !x is not taken"),
        ("- a", "holds no fields"),
        ("", "holds no fields"),
        ("\0", "not valid YAML"),
    ],
)
def test_a_file_that_is_something_else(
    tmp_path: Path, capsys: Printed, text: str, complaint: str
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(text)
    assert main.run([*WEST, "-f", str(values)]) == 2
    assert complaint in capsys.readouterr().err


async def test_mistakes_that_a_cluster_shows(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        for words, complaint in (
            ("--cluster-name east", "--cluster-name says 'east', but the cluster calls itself 'we"),
            ("--apply --from nowhere", "nowhere: "),
            ("--context north", "there is no context north"),
            ("--gateway-address 127.1", "no gateway can be at '127.1'"),
        ):
            assert await here.run(*WEST, *words.split()) == 1
            printed = capsys.readouterr()
            assert complaint in printed.err
            assert printed.out == ""


async def test_without_an_address_the_service_its_type_and_the_way_out_are_named(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        await give_address(here.west, "")
        assert await here.run(*WEST) == 1
        assert capsys.readouterr().err == (
            "isthmus: Service isthmus/isthmus-gateway of type LoadBalancer has been given no "
            "address yet; wait until it has, or say where it can be reached with "
            "--gateway-address\n"
        )
        assert await here.run(*WEST, "--gateway-address", "a.example") == 0


async def test_half_an_installation_says_which_half_is_missing(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        await here.west.client.delete(KINDS["Deployment"], Key("isthmus", CONTROLLER))
        assert await here.run(*WEST) == 1
        assert "Deployment isthmus-controller is not there" in capsys.readouterr().err
        assert await here.run(*WEST, "--cluster-name", "west") == 0
        await here.west.client.delete(KINDS["Service"], Key("isthmus", GATEWAY))
        assert await here.run(*WEST, "--cluster-name", "west") == 1
        assert "there is no Service isthmus/isthmus-gateway to be seen" in capsys.readouterr().err
        await here.east.delete(PLAIN_DEFINITIONS, "links.isthmus.dev")
        typed = ("--cluster-name", "west", "--gateway-address", "a.example", "--apply", "--from")
        assert await here.run(*WEST, *typed, "east") == 1
        assert "east: this cluster knows no Links: Isthmus is not" in capsys.readouterr().err


async def test_who_may_not_write_links_is_told_so(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.become(here.east, rule("isthmus.dev", "links", "get", "list"))
        assert await here.run(*WEST, "--apply", "--from", "east") == 1
        assert 'cannot patch resource "links"' in capsys.readouterr().err


async def test_a_cluster_that_does_not_answer(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        pass
    assert await here.run(*WEST) == 75
    assert "connection refused" in capsys.readouterr().err
