"""What people and scripts are shown."""

import io

import pytest

from isthmus.cli import render


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
