"""``isthmus uninstall``: what can be typed."""

import click

from isthmus.cli import options
from isthmus.cli.where import Where
from isthmus.model.wire import Json


@click.command()
@options.namespace
@click.option("--apply", is_flag=True, help="Delete it instead of printing it.")
@click.option("--force", is_flag=True, help="Although Links exist: they stay, and so do mirrors.")
@options.timeout("2m", "With --apply: how long to wait until all of it is gone.")
@click.option(
    "-o",
    "output",
    type=click.Choice(["json", "yaml"]),
    help="What would be deleted, or with --apply what was.",
)
@click.pass_obj
def uninstall(where: Where, /, output: str | None, **chosen: Json) -> None:
    """Remove what `isthmus install` has made, and nothing else.

    It prints what would go, and deletes with --apply:

    \b
      isthmus --context west unlink east --apply
      isthmus --context west uninstall --apply

    It refuses while Links exist: only a controller removes their mirrors. The kinds stay as long as
    there are Links or Grants, and the namespace as long as somebody else has something in it; both
    are named. The anchors and the issuer go if `isthmus install` has put them there. With --apply
    it ends when all that goes is gone, so that `isthmus install` can follow.
    """
    from isthmus.cli.installing import uninstalling
    from isthmus.cli.installing.uninstalling import Wish

    uninstalling.uninstall(where, Wish(**chosen), output)
