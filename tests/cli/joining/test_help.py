"""Every command here explains itself, with examples that can be typed."""

import shlex

import click
import pytest

from isthmus.cli import main

COMMANDS = ("allow", "connect", "deny", "link", "plan", "unlink")


def examples(text: str) -> list[list[str]]:
    """The commands of ours that a help text shows, without what they are piped into."""
    joined = text.replace("\\\n", " ")
    lines = (line.strip() for line in joined.splitlines())
    return [
        shlex.split(one.partition("|")[0].partition(">")[0])
        for one in lines
        if one.startswith("isthmus ")
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_are_understood(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([command, "--help"]) == 0
    found = examples(capsys.readouterr().out)
    assert any(command in words for words in found)
    for _, *words in found:
        outer = main.cli.make_context("isthmus", words)
        name, chosen, rest = main.cli.resolve_command(outer, [*outer._protected_args, *outer.args])
        assert isinstance(chosen, click.Command)
        chosen.make_context(name, rest, parent=outer)
