"""What people and scripts are shown."""

import io

import msgspec
import pytest
import yaml

from isthmus.cli import render
from isthmus.cli.checking.checks import Check
from isthmus.cli.render import Style

FOUND = [
    Check(group="kubeconfig", name="kubeconfig can be read", detail="/tmp/k"),
    Check(group="kubeconfig", name="context is safe", outcome="warning", detail="TLS is off"),
    Check(
        group="kubernetes-api",
        name="API server can be reached",
        outcome="error",
        detail="connection refused",
        hint="is it running?",
    ),
]
TABLE = """\
kubeconfig
----------
√ kubeconfig can be read (/tmp/k)
‼ context is safe
    TLS is off

kubernetes-api
--------------
× API server can be reached
    connection refused
    hint: is it running?

Status check results are ×
"""  # noqa: RUF001  # the signs that all checks of this family use
SHORT = """\
‼ context is safe
    TLS is off
× API server can be reached
    connection refused
    hint: is it running?
Status check results are ×
"""  # noqa: RUF001


@pytest.mark.parametrize("output, expected", [("table", TABLE), ("short", SHORT)])
def test_checks_for_people(output: str, expected: str) -> None:
    assert render.checks(FOUND, output, Style()) == expected


def test_what_a_server_says_cannot_write_to_the_terminal() -> None:
    found = [Check(group="g", name="n", detail="v1.36\x1b]0;gotcha\x07\nok")]
    assert "√ n (v1.36 ]0;gotcha ok)\n" in render.checks(found, "table", Style())
    bad = "a\x1b[2J\nb"
    everywhere = Check(group=bad, name=bad, outcome="error", detail=bad, hint=bad)
    for output in ("table", "short"):
        said = render.checks([everywhere], output, Style())
        assert "\x1b" not in said
        assert "a [2J b" in said


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_checks_for_scripts(output: str) -> None:
    text = render.checks(FOUND, output, Style())
    read = msgspec.json.decode(text) if output == "json" else yaml.safe_load(text)
    assert read["success"] is False
    assert [check["outcome"] for check in read["checks"]] == ["ok", "warning", "error"]
    assert read["checks"][2]["hint"] == "is it running?"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "stream, variables, expected",
    [
        pytest.param(Terminal(), {}, True, id="a terminal"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="declined"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="not declined"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="a terminal without colours"),
        pytest.param(io.StringIO(), {}, False, id="a pipe"),
    ],
)
def test_colour_only_for_those_who_want_it(
    stream: io.StringIO,
    variables: dict[str, str],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert render.style(stream).colour is expected


def test_a_table_looks_like_kubectls() -> None:
    answer = {
        "columnDefinitions": [
            {"name": "Name", "priority": 0},
            {"name": "Ports(s)", "priority": 0},
            {"name": "Selector", "priority": 1},
        ],
        "rows": [{"cells": ["a-long-name", 80, "x"]}, {"cells": ["b", "", "y"]}],
    }
    assert render.table(answer) == "NAME          PORTS(S)\na-long-name   80\nb"


def test_rows_of_our_own_look_the_same() -> None:
    shown = render.rows(["Name", "Ports"], [["a-long-name", 80], ["b", None], ["c", ""]])
    assert shown == "NAME          PORTS\na-long-name   80\nb             -\nc             -"


def test_no_rows_are_a_head() -> None:
    assert render.rows(["Name", "Ports"], []) == "NAME   PORTS"


def test_a_cell_cannot_write_to_the_terminal_nor_fill_it() -> None:
    shown = render.rows(["Name"], [["a\x1b[2J\nb"], ["x" * 5000]])
    assert shown.splitlines()[1] == "a [2J b"
    assert len(shown.splitlines()[2]) == render.LONGEST_CELL
