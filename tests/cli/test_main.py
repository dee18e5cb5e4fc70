import asyncio
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from isthmus import __version__
from isthmus.cli import main
from isthmus.cli.exits import MISUSED
from isthmus.cli.where import Where
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.kube.errors import BadConfig, Unreachable
from isthmus.model.errors import IsthmusError

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["version"], f"isthmus {__version__}\n"),
        (["--version"], f"isthmus {__version__}\n"),
        (["version", "-o", "yaml"], f"client:\n  version: {__version__}\n"),
        (
            ["version", "-o", "json"],
            f'{{\n  "client": {{\n    "version": "{__version__}"\n  }}\n}}\n',
        ),
    ],
    ids=" ".join,
)
def test_the_version(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 0
    assert capsys.readouterr().out == expected


TYPED_WRONGLY = (
    "frobnicate",
    "check --wait long",
    "stat --window 1ms",
    "install --cluster-name West",
    "install --cluster-name west --set hi=true",
    "install --cluster-name west --anchor /nowhere",
    "uninstall --timeout long",
    "allow east --from-namespace A",
    "allow east --to-selector !-",
    "link --cluster-name west --set enableHeadless=true",
    "link --cluster-name west -f /nowhere",
    "plan --link /nowhere",
    "trust issue --cluster west --anchor /nowhere --out x",
    "demo exec east -- true",
    "proxy --role egress --controller x",
)


@pytest.mark.parametrize("words", TYPED_WRONGLY)
def test_what_is_typed_wrongly_ends_with_the_same_code_in_every_command(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words.split()) == MISUSED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["version", "-o", "xml"], ["--nonsense"], ["demo", "--directory", __file__]],
    ids=" ".join,
)
def test_misuse_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Error: " in printed.err


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ("ask", Where(None, None)),
        ("--kubeconfig a --context b ask", Where("a", "b")),
        ("ask --kubeconfig a --context b", Where("a", "b")),
        ("--kubeconfig a ask --context=b", Where("a", "b")),
        ("--context b ask --kubeconfig a", Where("a", "b")),
        ("--context a ask --context b", Where(None, "b")),
    ],
)
def test_which_cluster_is_meant_can_be_said_on_both_sides_of_a_command(
    arguments: str, expected: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Where] = []
    monkeypatch.setattr(main.cli, "commands", dict(main.cli.commands))
    main.cli.add_command(click.Command("ask", callback=click.pass_obj(seen.append)))
    assert main.run(arguments.split()) == 0
    assert seen == [expected]


@pytest.mark.parametrize("command", sorted(main.cli.commands))
def test_every_command_takes_the_options_that_say_which_cluster_is_meant(command: str) -> None:
    options = {one for each in main.cli.commands[command].params for one in each.opts}
    assert {"--kubeconfig", "--context"} <= options


@pytest.mark.parametrize(
    "error, code",
    [
        pytest.param(BadConfig("file x: what is\n wrong"), 1, id="permanent"),
        pytest.param(Unreachable("file x: what is wrong"), 75, id="transient"),
        pytest.param(BadConfig("file x: what \x1b\x07 is wrong"), 1, id="not for a terminal"),
    ],
)
def test_every_failure_is_one_line(
    error: IsthmusError,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setitem(main.cli.commands, "failing", failing)
    assert main.run(["failing"]) == code
    assert capsys.readouterr().err == "isthmus: file x: what is wrong\n"


def test_an_interruption_ends_quietly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(main.cli.commands, "interrupted", interrupted)
    assert main.run(["interrupted"]) == 130
    assert capsys.readouterr().err.strip() == ""


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from isthmus.cli.main import run; run(['--help']);"
        "heavy = {'aiohttp', 'cryptography', 'yaml', 'msgspec'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


@pytest.mark.parametrize(
    "redirection, code, complaint",
    [
        pytest.param(
            "> /dev/full", 1, "isthmus: the output cannot be written: no space left\n", id="full"
        ),
        pytest.param(
            ">&-", 1, "isthmus: the output cannot be written: it is closed\n", id="closed"
        ),
    ],
)
def test_output_that_nobody_can_take(redirection: str, code: int, complaint: str) -> None:
    command = Path(sys.executable).with_name("isthmus")
    done = subprocess.run(
        f"{command} version {redirection}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.lower()) == (code, complaint)


def test_the_command_is_what_python_runs_as_a_module() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"isthmus": "isthmus.__main__:main"}


@pytest.mark.parametrize("module", ["click", "isthmus.cli.main", "isthmus.cli.where"])
def test_ctrl_c_ends_it_quietly_while_it_is_still_being_loaded(module: str) -> None:
    """What the console script does, with Ctrl-C at the moment when ``module`` is looked for."""
    code = f"""
import os, signal, sys

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
from isthmus.__main__ import main
sys.argv = ["isthmus", "version"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.sockets
async def test_said_twice_v_shows_every_request_and_no_credential(tmp_path: Path) -> None:
    cluster, config = Cluster("west"), tmp_path / "config"
    async with serve(cluster) as served:
        config.write_text(yaml.safe_dump(served.kubeconfig()))
        words = [sys.executable, "-m", "isthmus", "-vv", "--kubeconfig", str(config), "gateways"]
        done = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1, done.stderr  # Isthmus is not installed there
    shown = r"DEBUG +asked call='list links' outcome='404' milliseconds=[0-9.]+"
    assert re.search(shown, done.stderr)
    assert "asyncio" not in done.stderr
    assert cluster.admin_token not in done.stderr
