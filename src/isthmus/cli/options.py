"""Options that commands of several rooms have: one word, and one meaning, in all of them."""

from collections.abc import Callable
from typing import TypeVar

import click

from isthmus.cli import completing
from isthmus.model.syntax import is_dns_label, is_service_name
from isthmus.model.times import seconds
from isthmus.model.wire import Json

F = TypeVar("F", bound=Callable[..., object])


def cluster(text: str) -> str:
    """Read the name of a cluster."""
    if not is_service_name(text):
        raise click.BadParameter(
            f"{text[:63]!r} is not the name of a cluster: lower-case letters, digits and dashes, "
            "at most 63, the first of them a letter"
        )
    return text


def inside(text: str) -> str:
    """Read the name of a namespace."""
    if not is_dns_label(text):
        raise click.BadParameter(f"{text[:63]!r} is not the name of a namespace")
    return text


def duration(text: str) -> float:
    try:
        return seconds(text)
    except ValueError:
        raise click.BadParameter("not a duration such as 30s or 2m") from None


apply = click.option("--apply", is_flag=True, help="Do it, instead of printing it.")
force_conflicts = click.option(
    "--force-conflicts", is_flag=True, help="Take over fields that somebody else has set."
)
manifest = click.option(
    "-o", "output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True
)
data = click.option("-o", "output", type=click.Choice(["table", "json", "yaml"]), default="table")
namespace = click.option(
    "--namespace", default="isthmus", show_default=True, help="Where Isthmus is installed."
)


def context(*names: str, text: str, **more: Json) -> Callable[[F], F]:
    """A cluster beside that of ``--context``, by a context of the same kubeconfig."""
    complete = completing.contexts
    return click.option(*names, metavar="CONTEXT", help=text, shell_complete=complete, **more)


def timeout(default: str, text: str = "How long to wait for controllers.") -> Callable[[F], F]:
    return click.option(
        "--timeout",
        type=duration,
        default=default,
        show_default=True,
        metavar="TIME",
        help=text,
    )
