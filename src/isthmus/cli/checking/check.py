"""``isthmus check``: what can be typed."""

import math
import sys

import click

from isthmus.cli import options
from isthmus.cli.exits import FAILED
from isthmus.cli.where import Where


def _patience(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise click.BadParameter(f"{text!r} is not a number of seconds")
    return found


@click.command()
@click.option("--pre", is_flag=True, help="Whether Isthmus could be installed, be it there or not.")
@options.context(
    "--to", "others", text="Compare with this cluster, too. Many allowed.", multiple=True
)
@click.option(
    "--wait",
    "patience",
    type=_patience,
    metavar="SECONDS",
    default=0.0,
    help="Try again until all is well, for so long.",
)
@options.namespace
@click.option(
    "-o", "output", type=click.Choice(["table", "short", "json", "yaml"]), default="table"
)
@click.pass_obj
def check(where: Where, /, output: str, patience: float, **chosen: object) -> int:
    """Check a cluster: whether Isthmus can be installed, or whether it is well.

    Before an installation: what is there already, and whether you may create what it consists of.
    After it: kinds, rights, workloads, certificates, links and mirrors. Every failure is named with
    its cause and the way out. Exits with 1 if there is an error; a warning is none.

    \b
      isthmus --context east check --pre
      isthmus --context east check
      isthmus --context east check --to west
      isthmus --context east check --wait 60 -o short
    """
    import asyncio

    from isthmus.cli import render
    from isthmus.cli.checking import checks, checkviews, examining
    from isthmus.cli.progress import progress

    others = chosen["others"]
    assert isinstance(others, tuple)
    wanted = examining.Wanted(
        namespace=str(chosen["namespace"]), is_before=bool(chosen["pre"]), others=others
    )
    shown = progress(sys.stderr) if sys.stderr.isatty() else None
    found = asyncio.run(examining.run(where, wanted, patience, shown))
    style = render.style(sys.stdout)
    click.echo(checkviews.rendered(found, output, style), nl=False)
    return FAILED if checks.failed(found) else 0
