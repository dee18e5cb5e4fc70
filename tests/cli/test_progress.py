"""What people see while they wait, on a terminal and in a log."""

import io
import os
from pathlib import Path

import pytest

from isthmus.cli.progress import Progress, progress, watched


def said(width: int) -> tuple[Progress, list[str]]:
    lines: list[str] = []
    return Progress(lines.append, width), lines


def test_in_a_log_every_piece_of_news_is_a_line_once() -> None:
    shown, lines = said(0)
    for text in ("3 left", "3 left", "2 left"):
        shown.waiting(text)
    shown.clear()
    assert lines == ["3 left\n", "2 left\n"]


def test_on_a_terminal_one_line_changes_and_is_gone_in_the_end() -> None:
    shown, lines = said(20)
    for text in ("3 left", "3 left", "a long line that does not fit"):
        shown.waiting(text)
    shown.clear()
    shown.clear()
    assert lines == ["\r\x1b[K3 left", "\r\x1b[Ka long line that d…", "\r\x1b[K"]


def test_what_a_cluster_says_cannot_steer_the_terminal() -> None:
    shown, lines = said(0)
    shown.waiting("a\x1b[2Jb\nc")
    assert lines == ["a [2Jb c\n"]


def test_nobody_looks_at_a_file() -> None:
    stream = io.StringIO()
    progress(stream).waiting("x")
    assert stream.getvalue() == "x\n"


def test_where_only_the_outcome_matters_a_file_is_told_nothing_else() -> None:
    stream = io.StringIO()
    watched(stream).waiting("x")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("term, live", [("xterm", True), ("dumb", False)])
def test_a_terminal_is_written_to_live_unless_it_cannot(
    term: str, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    ours, theirs = os.openpty()
    try:
        with Path(os.ttyname(theirs)).open("w") as stream:
            progress(stream).waiting("x")
            assert os.read(ours, 100).startswith(b"\r\x1b[K") is live
    finally:
        os.close(ours)
        os.close(theirs)
