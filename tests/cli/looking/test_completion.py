"""What a shell is told, and what it offers."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from isthmus.cli import completing, main
from isthmus.cli.looking.completion import VARIABLE
from isthmus.embedded.faults.effects import hanging
from tests.apps.clusters import LINKS, link
from tests.cli.looking.stage import Printed, stage
from tests.support.kubeconfigs import kubeconfig, written

pytestmark = pytest.mark.sockets

COMMAND = Path(sys.executable).with_name("isthmus")


@pytest.mark.parametrize(
    "shell, words",
    [
        ("bash", ("_ISTHMUS_COMPLETE=bash_complete", "complete -o nosort -F")),
        ("zsh", ("_ISTHMUS_COMPLETE=zsh_complete", "#compdef isthmus")),
        ("fish", ("_ISTHMUS_COMPLETE=fish_complete", "complete --no-files --command isthmus")),
    ],
)
def test_the_script_asks_us(shell: str, words: tuple[str, ...], capsys: Printed) -> None:
    assert main.run(["completion", shell]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for word in words:
        assert word in printed.out


def test_the_script_is_one_that_bash_reads(capsys: Printed) -> None:
    assert main.run(["completion", "bash"]) == 0
    script = f"{capsys.readouterr().out}\ncomplete -p isthmus"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip().endswith("isthmus")


def test_a_shell_that_is_not_known_is_refused(capsys: Printed) -> None:
    assert main.run(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


def offered(line: str) -> list[str]:
    """What is offered for the last word of ``line``, which may be empty."""
    _, *words, incomplete = line.split(" ")
    asked = ShellComplete(main.cli, {}, "isthmus", VARIABLE)
    return [one.value for one in asked.get_completions(words, incomplete)]


def config(directory: Path) -> Path:
    content = kubeconfig()
    content["contexts"] += [{"name": "east", "context": {"cluster": "none", "user": "none"}}]
    return written(directory, content)


def typed(line: str) -> tuple[int, str, str]:
    """What a shell hears when it asks about the last word of ``line``."""
    place = str(len(line.split(" ")) - 1)
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": place}
    done = subprocess.run(
        [COMMAND], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_shell_is_offered_commands_when_it_asks() -> None:
    assert typed("isthmus ga") == (0, "plain,gateways\n", "")


def test_contexts_are_offered_at_both_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert offered("isthmus --context ") == ["east", "west"]
    assert offered("isthmus gateways --context w") == ["west"]
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert offered("isthmus --context ") == []
    assert offered(f"isthmus --kubeconfig {path} --context e") == ["east"]


@pytest.mark.parametrize("content", [b"]", b"{}", b"contexts: 3", b"contexts: [{}]"])
def test_a_broken_kubeconfig_offers_nothing_and_says_nothing(
    tmp_path: Path, content: bytes, capsys: Printed
) -> None:
    path = written(tmp_path, content)
    assert offered(f"isthmus --kubeconfig {path} --context ") == []
    assert offered(f"isthmus --kubeconfig {path} gateways ") == []
    assert capsys.readouterr() == ("", "")


async def test_links_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completing, "PATIENCE", 30.0)  # seconds, on a machine that is busy
    async with stage(tmp_path) as here:
        for name in ("west", "north"):
            await here.east.create(LINKS, link(name))
        monkeypatch.setenv("KUBECONFIG", str(here.desk.config))
        for line, expected in (
            ("isthmus gateways ", ["north", "west"]),
            ("isthmus --context east services --link w", ["west"]),
            ("isthmus stat --link n", ["north"]),
            ("isthmus unlink ", ["north", "west"]),
            ("isthmus gateways --context none ", []),
        ):
            assert await asyncio.to_thread(offered, line) == expected, line


async def test_a_cluster_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    async with stage(tmp_path) as here:
        faults = here.east.cluster.faults
        faults.add(hanging(faults))
        line = f"isthmus --kubeconfig {here.desk.config} gateways "
        assert await asyncio.to_thread(typed, line) == (0, "\n", "")
        faults.disconnect()
