import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from isthmus import __version__
from isthmus.cli import main
from isthmus.kube.errors import BadConfig, Unreachable
from isthmus.model.errors import IsthmusError


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
        ("ask", main.Where(None, None)),
        ("--kubeconfig a --context b ask", main.Where("a", "b")),
        ("ask --kubeconfig a --context b", main.Where("a", "b")),
        ("--kubeconfig a ask --context=b", main.Where("a", "b")),
        ("--context b ask --kubeconfig a", main.Where("a", "b")),
        ("--context a ask --context b", main.Where(None, "b")),
    ],
)
def test_which_cluster_is_meant_can_be_said_on_both_sides_of_a_command(
    arguments: str, expected: main.Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[main.Where] = []
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


def started(*arguments: str, home: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(home), "NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", "from isthmus.cli.main import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _east(shown: str) -> list[str]:
    """What ``kubectl get services`` printed about east, each time."""
    return shown.split("$ kubectl --context east get services\n")[1:]


def test_the_demo_ends_by_itself_when_nobody_watches(tmp_path: Path) -> None:
    process = started("demo", home=tmp_path)
    printed, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, "")
    assert "\x1b" not in printed
    shown = re.sub(r" \d+s\n", " 0s\n", printed)
    assert (
        "$ kubectl --context west get services\n"
        "NAME         TYPE        CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE\n"
        "kubernetes   ClusterIP   10.97.0.1    <none>        443/TCP   0s\n"
        "nginx-svc    ClusterIP   None         <none>        80/TCP    0s\n"
    ) in shown
    mirrors = [sorted(re.findall(r"^(\S+-west) +ClusterIP", part, re.M)) for part in _east(shown)]
    pods = [f"nginx-set-{number}-west" for number in range(5)]
    assert mirrors == [[*pods[:3], "nginx-svc-west"], [*pods, "nginx-svc-west"], []]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_the_demo_stays_until_it_is_told_to_end(tmp_path: Path, number: signal.Signals) -> None:
    chosen = tmp_path / "chosen"
    process = started("demo", "--stay", "--directory", str(chosen), home=tmp_path)
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or "until Ctrl-C" not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], "the demo ended early"
    kubeconfig = chosen / "kubeconfig"
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    process.send_signal(number)
    rest, complaints = process.communicate(timeout=30)
    assert (process.returncode, complaints) == (0, "")
    assert "gone" in rest
    assert list(chosen.iterdir()) == []


def test_the_demo_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "kubeconfig"
    mine.write_text("mine")
    assert main.run(["demo", "--once", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"isthmus: {mine} exists already; remove it or name another directory\n"
    )
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    "redirection, code, complaint",
    [
        pytest.param(
            "> /dev/full", 1, "isthmus: the output cannot be written: no space left\n", id="full"
        ),
        pytest.param(">&-", 0, "", id="closed"),
    ],
)
def test_output_that_nobody_can_take(redirection: str, code: int, complaint: str) -> None:
    command = Path(sys.executable).with_name("isthmus")
    done = subprocess.run(
        f"{command} version {redirection}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.lower()) == (code, complaint)
