"""What ``--help`` shows can be typed."""

import re

import pytest

from isthmus.cli import main
from tests.cli.looking.stage import Printed


@pytest.mark.parametrize("command", ["completion", "gateways", "services", "stat", "version"])
def test_every_example_can_be_typed(command: str, capsys: Printed) -> None:
    assert main.run([command, "--help"]) == 0
    help_ = capsys.readouterr().out
    examples = re.findall(r"^ +(?:\w+: +)?isthmus ((?:--context \w+ )?\w+.*?)(?: >|$)", help_, re.M)
    assert examples
    for example in examples:
        context = main.cli.make_context("isthmus", example.split())
        with context:
            name, found, words = main.cli.resolve_command(
                context, [*context._protected_args, *context.args]
            )
            assert name == command
            assert found is not None
            found.make_context(name, words, parent=context)
