"""How the processes that stay say what they do: the same options for all of them."""

import sys
from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


def logs(command: F) -> F:
    """Take --log-format and --log-level; unless it is said, the format suits whoever reads it."""
    for option in (
        click.option(
            "--log-level",
            type=click.Choice(["debug", "info", "warning", "error"]),
            default="info",
            show_default=True,
        ),
        click.option(
            "--log-format",
            type=click.Choice(["json", "text"]),
            callback=_format,
            help="Else text on a terminal.",
        ),
    ):
        command = option(command)
    return command


def _format(_context: click.Context, _option: click.Parameter, said: str | None) -> str:
    return said or ("text" if sys.stderr.isatty() else "json")
