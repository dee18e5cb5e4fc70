"""``isthmus uninstall``: what can be typed."""

import click

from isthmus.cli import options
from isthmus.cli.where import Where


@click.command()
@options.namespace
@click.option("--apply", is_flag=True, help="Delete it instead of printing it.")
@click.option("--force", is_flag=True, help="Although Links exist: they stay, and so do mirrors.")
@click.option(
    "-o",
    "output",
    type=click.Choice(["json", "yaml"]),
    help="What would be deleted, or with --apply what was.",
)
@click.pass_obj
def uninstall(where: Where, namespace: str, apply: bool, force: bool, output: str | None) -> None:
    """Remove what `isthmus install` has made, and nothing else.

    It prints what would go, and deletes with --apply:

    \b
      isthmus --context west unlink east --apply
      isthmus --context west uninstall --apply

    It refuses while Links exist: only a controller removes their mirrors. The kinds stay as long as
    there are Links or Grants, and the namespace as long as somebody else has something in it; both
    are named. The anchors and the issuer go if `isthmus install` has put them there.
    """
    from isthmus.cli.installing import uninstalling
    from isthmus.cli.installing.uninstalling import Wish

    uninstalling.uninstall(where, Wish(namespace=namespace, force=force, apply=apply), output)
