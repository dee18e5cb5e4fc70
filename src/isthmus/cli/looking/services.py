"""``isthmus services``: what can be typed."""

from typing import TYPE_CHECKING

import click

from isthmus.cli import completing, options
from isthmus.cli.where import Where

if TYPE_CHECKING:
    from isthmus.cli.looking.sharing import Shared, Wanted


@click.command()
@click.option(
    "-n",
    "--namespace",
    type=options.inside,
    metavar="NAME",
    help="Of the Services; else the context's.",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces.")
@click.option(
    "--link", metavar="CLUSTER", shell_complete=completing.links, help="Shared with it only."
)
@click.option("--exports", is_flag=True, help="What this cluster exports.")
@click.option("--mirrors", is_flag=True, help="What it imports; without either flag, both.")
@options.data
@click.pass_obj
def services(where: Where, /, output: str, **chosen: object) -> None:
    """Show what is exported and imported.

    To whom, how ready it is, and why it is refused where it is. Exports are offered or refused.
    Mirrors are ready, or unready if none of their endpoints is, or orphaned if their Link is gone;
    exports of other clusters that are refused stand among them.

    \b
      isthmus --context west services -A --exports
      isthmus --context east services -n default --link west
      isthmus --context east services -A -o json
    """
    import asyncio

    from isthmus.cli.looking import serviceviews
    from isthmus.cli.looking.sharing import Wanted

    if chosen["namespace"] and chosen["all_namespaces"]:
        raise click.UsageError("-n and -A exclude each other")
    exports, mirrors = bool(chosen["exports"]), bool(chosen["mirrors"])
    inside = chosen["namespace"] or ("" if chosen["all_namespaces"] else where.access().namespace)
    wanted = Wanted(
        namespace=str(inside),
        link=str(chosen["link"] or ""),
        exports=exports or not mirrors,
        mirrors=mirrors or not exports,
    )
    found = asyncio.run(_looked(where, wanted))
    for link, more in found.unnamed:
        text = f"link {link} refuses {more} more exports; its status names the first only"
        click.echo(text, err=True)
    if wanted.namespace and not found.exports and not found.mirrors:
        text = f"nothing is shared in namespace {wanted.namespace}; -A looks at all namespaces"
        click.echo(text, err=True)
    click.echo(serviceviews.rendered(found, output), nl=False)


async def _looked(where: Where, wanted: "Wanted") -> "Shared":
    from isthmus.cli.looking.sharing import look

    async with where.connected() as client:
        return await look(client, wanted)
