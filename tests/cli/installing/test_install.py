"""``isthmus install`` and ``isthmus uninstall``, as they are typed."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from isthmus import __version__
from isthmus.cli import main
from isthmus.embedded.api.answers import Answer
from isthmus.embedded.faults.rules import Serve
from isthmus.install import objects
from isthmus.install.everything import identity
from isthmus.install.keys import entries
from isthmus.install.values import Values, parse
from isthmus.kube.errors import Unreachable
from isthmus.kube.plain import KINDS
from isthmus.kube.transport import Request
from isthmus.pki.keys import read_pair
from tests.cli.installing.stage import stage

Printed = pytest.CaptureFixture[str]
sockets = pytest.mark.sockets
SECRETS, DEPLOYMENTS = KINDS["Secret"], KINDS["Deployment"]
NAMESPACES, BINDINGS = KINDS["Namespace"], KINDS["ClusterRoleBinding"]


def printed(capsys: Printed, *words: str) -> str:
    assert main.run(["install", "--cluster-name", "west", *words]) == 0
    return capsys.readouterr().out


def test_manifests_are_printed_and_nothing_is_asked_of_a_cluster(capsys: Printed) -> None:
    found = list(yaml.safe_load_all(printed(capsys)))
    assert found == objects(parse(["clusterName=west"]))
    whole = json.loads(printed(capsys, "-o", "json"))
    assert whole == {"apiVersion": "v1", "kind": "List", "items": found}


def test_what_is_chosen_shows(capsys: Printed, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("logLevel: debug\nimage: {tag: a}\n")
    text = printed(
        capsys,
        *("-f", str(file), "--ha", "--namespace", "mesh"),
        *("--set", "image.tag=b", "--set", "gateway.service.type=NodePort"),
    )
    expected = objects(
        parse(
            ["clusterName=west", "ha=true", "namespace=mesh", "gateway.service.type=NodePort"],
            {"a": "{logLevel: debug, image: {tag: b}}"},
        )
    )
    assert list(yaml.safe_load_all(text)) == expected


@pytest.mark.parametrize(
    "words, code, said",
    [
        ([], 2, "clusterName is missing"),
        (["--cluster-name", "West"], 2, "'West' is not the name of a cluster"),
        (["--cluster-name", "west", "--set", "ha=maybe"], 2, "ha: 'maybe' is not true or false"),
        (["--cluster-name", "west", "--set", "hi=true"], 2, "there is no key 'hi'"),
        (["--cluster-name", "west", "-f", "/nowhere"], 2, "/nowhere cannot be read"),
        (["--cluster-name", "west", "--anchor", "/nowhere"], 2, "/nowhere/anchor.crt cannot be"),
        (["--cluster-name", "west", "--anchor", "a", "--issuer", "b"], 2, "--anchor issues and is"),
        (["--cluster-name", "west", "-o", "table"], 2, "'table' is not one of"),
        (["--cluster-name", "west", "--reset-values"], 2, "--reset-values goes with --apply"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    words: list[str], code: int, said: str, capsys: Printed
) -> None:
    assert main.run(["install", *words]) == code
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_text_is_refused(capsys: Printed, tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_bytes(b"\xff\xfe")
    assert main.run(["install", "--cluster-name", "west", "-f", str(file)]) == 2
    assert capsys.readouterr().err == f"isthmus: {file}: this is not a text in UTF-8\n"


def test_a_file_that_is_too_large_is_refused(capsys: Printed, tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_text("#" * ((1 << 20) + 1))
    assert main.run(["install", "--cluster-name", "west", "-f", str(file)]) == 2
    assert capsys.readouterr().err == f"isthmus: {file} is larger than 1048576 bytes\n"


def test_every_key_is_shown(capsys: Printed, golden: Callable[[str, str], None]) -> None:
    assert main.run(["install", "--keys"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()[1:]] == [
        one.path for one in entries(Values)
    ]
    golden("keys.txt", text)
    assert main.run(["install", "--keys", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["keys"]
    assert {key: value for key, value in found[7].items() if key != "meaning"} == {
        "key": "ha",
        "takes": "true or false",
        "default": False,
    }


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_help_teaches_by_examples_that_can_be_typed(command: str, capsys: Printed) -> None:
    assert main.run([command, "--help"]) == 0
    lines = re.findall(r"^ +isthmus (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert any(re.match(rf"(--context \w+ )?{command} ", line) for line in lines)
    for line in lines:
        words = shlex.split(line.partition("|")[0])
        outer = main.cli.make_context("isthmus", words)
        name, found, rest = main.cli.resolve_command(outer, [*outer._protected_args, *outer.args])
        assert found is not None
        found.make_context(name, rest, parent=outer)


def anchored(folder: Path) -> Path:
    assert main.run(["trust", "create", "--out", str(folder / "anchor")]) == 0
    return folder / "anchor"


def test_with_an_anchor_the_issuer_is_among_the_manifests(capsys: Printed, tmp_path: Path) -> None:
    anchor = anchored(tmp_path)
    capsys.readouterr()
    found = list(yaml.safe_load_all(printed(capsys, "--anchor", str(anchor))))
    (secret,) = [one for one in found if one["kind"] == "Secret"]
    data = {key: b64decode(value) for key, value in secret["data"].items()}
    pair = read_pair(data["tls.crt"], data["tls.key"], "it")
    assert "issuer of west.isthmus" in pair.certificate.subject.rfc4514_string()
    config = next(one for one in found if one["metadata"]["name"] == "isthmus-trust")
    assert config["data"]["anchors.pem"] == (anchor / "anchor.crt").read_text()


def test_a_private_key_is_not_shown_on_a_terminal(
    capsys: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = anchored(tmp_path)
    main_side, side = os.openpty()
    capsys.readouterr()
    with os.fdopen(side, "w") as terminal, os.fdopen(main_side):
        monkeypatch.setattr(sys, "stdout", terminal)
        words = ["install", "--cluster-name", "west", "--anchor", str(anchor)]
        assert main.run(words) == 1
    assert capsys.readouterr().err == (
        "isthmus: a private key is not shown on a terminal; use a pipe, or --apply\n"
    )


def test_the_mesh_is_that_of_the_anchor(capsys: Printed, tmp_path: Path) -> None:
    words = ["trust", "create", "--mesh-domain", "mesh.example", "--out", str(tmp_path / "a")]
    assert main.run(words) == 0
    capsys.readouterr()
    assert "mesh.example" in printed(capsys, "--anchor", str(tmp_path / "a"))
    words = ["install", "--cluster-name", "west", "--anchor", str(tmp_path / "a")]
    assert main.run([*words, "--set", "meshDomain=other"]) == 1
    assert "vouches for .mesh.example only" in capsys.readouterr().err


@sockets
async def test_two_commands_install_and_the_second_time_nothing_changes(
    tmp_path: Path, capsys: Printed, golden: Callable[[str, str], None]
) -> None:
    async with stage(tmp_path) as here:
        capsys.readouterr()
        assert await here.install() == 0
        first = capsys.readouterr()
        golden("install.txt", re.sub(r"\d{4}-.*Z", "…", first.out))
        before = await here.get(SECRETS, "isthmus-issuer")
        assert await here.install() == 0
        second = capsys.readouterr()
        lines = second.out.splitlines()
        assert {line.rpartition(" ")[2] for line in lines[:-2]} == {"unchanged"}
        assert lines[-1].startswith("  the issuer of west.isthmus stays, until ")
        assert await here.get(SECRETS, "isthmus-issuer") == before
        shown = first.out + first.err + second.out + second.err
        assert before["data"]["tls.key"] not in shown
        assert "PRIVATE" not in shown


@sockets
async def test_what_became_of_each_object_is_data(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        capsys.readouterr()
        assert await here.install("-o", "json") == 0
        said = json.loads(capsys.readouterr().out)
    assert (said["cluster"], said["namespace"]) == ("west", "isthmus")
    assert {one["outcome"] for one in said["objects"]} == {"created"}
    wanted = {identity(one) for one in objects(parse(["clusterName=west"]))}
    assert wanted <= {identity(one) for one in said["objects"]}


@sockets
async def test_without_an_anchor_it_is_said_what_is_missing(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.run("install", "--cluster-name", "west", "--apply") == 0
        assert "it has no certificates yet" in capsys.readouterr().out
        assert await here.install() == 0
        assert "a new issuer of west.isthmus" in capsys.readouterr().out
        assert await here.run("install", "--cluster-name", "west", "--apply") == 0
        assert "it has no certificates yet" not in capsys.readouterr().out


@sockets
async def test_a_cluster_keeps_its_name_and_its_anchor(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        assert await here.install("--cluster-name", "east") == 1
        assert "the cluster calls itself 'west'" in capsys.readouterr().err
        assert main.run(["trust", "create", "--out", str(tmp_path / "other")]) == 0
        assert await here.install("--anchor", str(tmp_path / "other")) == 1
        assert "`isthmus trust rotate` replaces anchors" in capsys.readouterr().err


@sockets
async def test_what_was_chosen_is_remembered_until_something_else_is_said(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.run("install", "--apply") == 2
        assert "clusterName is missing" in capsys.readouterr().err
        chosen = ("--ha", "--set", "clusterDomain=w.example", "--set", "gateway.drain=60")
        assert await here.install(*chosen) == 0
        before = await here.get(DEPLOYMENTS, "isthmus-gateway")
        await here.west.delete(DEPLOYMENTS, "isthmus-gateway", "isthmus")
        await here.west.delete(DEPLOYMENTS, "isthmus-controller", "isthmus")
        capsys.readouterr()
        assert await here.run("install", "--apply") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-2:] == [
            f"Isthmus {__version__} is installed in isthmus, as west",
            "  as it was chosen before: clusterDomain=w.example, ha=true, gateway.drain=60",
        ]
        assert {line.rpartition(" ")[2] for line in lines[:-2]} == {"created", "unchanged"}
        assert (await here.get(DEPLOYMENTS, "isthmus-gateway"))["spec"] == before["spec"]

        assert await here.run("install", "--set", "ha=false", "--apply", "-o", "json") == 0
        said = json.loads(capsys.readouterr().out)
        assert said["kept"] == {"clusterDomain": "w.example", "gateway.drain": 60}
        assert said["changed"] == {"ha": {"from": True, "to": False}}
        assert await here.run("install", "--set", "gateway.drain=5", "--apply") == 0
        assert "  changed: gateway.drain=5 (it was 60)\n" in capsys.readouterr().out

        words = ("install", "--cluster-name", "west", "--reset-values", "--apply")
        assert await here.run(*words) == 0
        kept = await here.get(KINDS["ConfigMap"], "isthmus-values")
        assert json.loads(kept["data"]["values.json"]) == {"clusterName": "west"}


@sockets
async def test_an_installation_that_remembers_nothing_loses_nothing(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install("--ha") == 0
        await here.west.delete(KINDS["ConfigMap"], "isthmus-values", "isthmus")
        before = await here.get(DEPLOYMENTS, "isthmus-egress")
        assert await here.install() == 1
        assert "say all of it again, with --reset-values" in capsys.readouterr().err
        assert await here.get(DEPLOYMENTS, "isthmus-egress") == before
        assert await here.install("--ha", "--reset-values") == 0


@sockets
async def test_a_second_installation_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        assert await here.install() == 0
        binding = await here.get(BINDINGS, "isthmus-controller")
        capsys.readouterr()
        assert await here.install("--namespace", "other") == 1
        assert capsys.readouterr() == (
            "",
            "isthmus: Isthmus is installed in isthmus already, and a cluster has only one: change "
            "that with --namespace isthmus, or remove it by `isthmus uninstall --namespace "
            "isthmus`. Nothing was written\n",
        )
        assert await here.get(BINDINGS, "isthmus-controller") == binding
        assert await here.west.get(NAMESPACES, "other") is None


@sockets
async def test_a_wrong_context_and_a_cluster_that_is_away(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        assert await here.install("--context", "nowhere") == 1
        assert "nowhere" in capsys.readouterr().err
    assert await here.install() == 75
    assert len(capsys.readouterr().err.splitlines()) == 1


def is_real_write(name: str) -> Callable[[Request], bool]:
    """Requests that would really write the object of that name."""

    def matches(request: Request) -> bool:
        is_real = ("dryRun", "All") not in request.query
        return request.method == "PATCH" and is_real and request.path.endswith(f"/{name}")

    return matches


@sockets
async def test_ctrl_c_says_how_far_it_came_and_the_same_command_goes_on(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        faults, is_reached = here.west.cluster.faults, asyncio.Event()

        async def hang(_request: Request, _serve: Serve) -> Answer:
            is_reached.set()
            await faults.broken()
            raise Unreachable("connection reset")

        faults.add(hang, is_real_write("isthmus-gateway"), times=1)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus", "--kubeconfig", str(here.config)),
            *("install", "--cluster-name", "west", "--anchor", str(here.anchor), "--apply"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await is_reached.wait()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert process.returncode == 130
        done = len(out.decode().splitlines())
        assert err.decode().strip() == (
            f"interrupted: {done} objects are in place; the same command goes on from here"
        )
        capsys.readouterr()
        assert await here.install() == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.endswith(" unchanged")] == lines[:done]
