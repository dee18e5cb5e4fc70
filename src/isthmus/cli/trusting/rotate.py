"""``isthmus trust rotate``: replace the trust anchor of running clusters, one careful step a time.

What shall become is kept in the clusters themselves, so that every command can be interrupted, and
typed again, by anybody.
"""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from isthmus.cli import options
from isthmus.cli.exits import UNFINISHED
from isthmus.cli.trusting.trust import FOLDER, duration

if TYPE_CHECKING:
    from isthmus.cli.trusting.rotating import Mesh
    from isthmus.cli.where import Where

F = TypeVar("F", bound=Callable[..., object])


def _mesh(command: F) -> F:
    """Add the options that say which clusters are meant."""
    for option in (
        options.namespace,
        click.option("--kubeconfig", metavar="FILE", help="Instead of $KUBECONFIG."),
        click.option(
            "--context",
            "contexts",
            metavar="NAME",
            multiple=True,
            required=True,
            help="A cluster of the mesh, by its context. Name all of them.",
        ),
    ):
        command = option(command)
    return command


_issuers = click.option(
    "--lifetime",
    type=duration,
    metavar="TIME",
    default="365d",
    show_default=True,
    help="Of the new issuers.",
)


@click.group()
def rotate() -> None:
    """Replace the trust anchor of running clusters, without a lost request.

    All clusters are made to trust both anchors; when every proxy does, each cluster gets an issuer
    below the new one; when nobody uses a certificate below the old one, that is dropped. It takes
    some minutes, most of which are spent on making sure.

    \b
      isthmus trust create --out new-anchor
      isthmus trust rotate run --context east --context west --new new-anchor
    """


@rotate.command()
@_mesh
@click.option("--new", type=FOLDER, required=True, help="Where `trust create` put the new anchor.")
@_issuers
@click.pass_obj
def run(where: "Where", /, new: Path, lifetime: timedelta, **named: object) -> int:
    """Start a rotation, or go on with it, until all clusters are below the new anchor.

    Ctrl-C stops it; the same command goes on from there, and so does one of somebody else. Exits
    with 3 if it is stopped or paused.
    """
    from isthmus.cli.trusting import files as trustfiles
    from isthmus.cli.trusting import rotating

    pair = trustfiles.read_anchor(new)
    return _finished(rotating.run(_meant(where, named), pair, lifetime, is_back=False))


@rotate.command("roll-back")
@_mesh
@click.option("--old", type=FOLDER, required=True, help="Where `trust create` put the old anchor.")
@_issuers
@click.pass_obj
def roll_back(where: "Where", /, old: Path, lifetime: timedelta, **named: object) -> int:
    """Undo a rotation that has not ended, in the same careful steps.

    Whoever drives it makes room. `run` goes forward again.
    """
    from isthmus.cli.trusting import files as trustfiles
    from isthmus.cli.trusting import rotating

    pair = trustfiles.read_anchor(old)
    return _finished(rotating.run(_meant(where, named), pair, lifetime, is_back=True))


@rotate.command()
@_mesh
@click.pass_obj
def pause(where: "Where", /, **named: object) -> None:
    """Stop whoever drives a rotation; `run` goes on with it."""
    from isthmus.cli.trusting import rotating

    _finished(rotating.pause(_meant(where, named)))


@rotate.command()
@_mesh
@options.data
@click.pass_obj
def status(where: "Where", /, output: str, **named: object) -> None:
    """Show how far a rotation is, and what every controller and proxy uses."""
    from isthmus.cli.trusting import rotating

    _finished(rotating.status(_meant(where, named), output))


def _meant(where: "Where", named: dict[str, object]) -> "Mesh":
    from isthmus.cli.trusting.rotating import Mesh

    contexts, file, namespace = (named[name] for name in ("contexts", "kubeconfig", "namespace"))
    assert isinstance(contexts, tuple)
    repeated = next((one for one in contexts if contexts.count(one) > 1), None)
    if repeated is not None:
        raise click.UsageError(f"--context {repeated} is named twice")
    return Mesh(contexts, str(file) if file else where.kubeconfig, str(namespace))


def _finished(part: Coroutine[None, None, bool]) -> int:
    import asyncio

    try:
        return 0 if asyncio.run(part) else UNFINISHED
    except KeyboardInterrupt:
        click.echo("interrupted: nothing is lost, the same command goes on from here", err=True)
        return UNFINISHED
