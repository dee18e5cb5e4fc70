"""``isthmus gateways``: what can be typed."""

from typing import TYPE_CHECKING

import click

from isthmus.cli import completing, options
from isthmus.cli.where import Where

if TYPE_CHECKING:
    from isthmus.cli.looking.probed import Gateways


@click.command()
@click.argument("clusters", nargs=-1, metavar="[CLUSTER]...", shell_complete=completing.links)
@options.data
@options.namespace
@click.pass_obj
def gateways(where: Where, clusters: tuple[str, ...], output: str, namespace: str) -> None:
    """Show how the gateways of linked clusters are.

    Whether each is alive, how many mirrors lead there, and how far away it is.

    \b
      isthmus --context east gateways
      isthmus --context east gateways west -o json
    """
    import asyncio

    from isthmus.cli.looking import probed

    found = asyncio.run(_looked(where, clusters, namespace))
    if found.unread:
        click.echo(f"no latencies: {found.unread}", err=True)
    if not found.gateways:
        click.echo("there is no Link in this cluster; `isthmus link` makes one", err=True)
    click.echo(probed.rendered(found, output), nl=False)


async def _looked(where: Where, clusters: tuple[str, ...], namespace: str) -> "Gateways":
    from isthmus.cli.looking import probed

    async with where.connected() as client:
        return await probed.look(client, clusters, namespace)
