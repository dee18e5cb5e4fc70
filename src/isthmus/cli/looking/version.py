"""``isthmus version``: what can be typed."""

from typing import TYPE_CHECKING

import click

from isthmus.cli import options
from isthmus.cli.where import Where

if TYPE_CHECKING:
    from isthmus.cli.looking.versions import Server


@click.command()
@click.option("--server", "part", flag_value="server", help="Ask the cluster for its own, too.")
@click.option("--client", "part", flag_value="client", help="Ask nobody; as without options.")
@click.option("-o", "output", type=click.Choice(["text", "json", "yaml"]), default="text")
@options.namespace
@click.pass_obj
def version(where: Where, part: str | None, output: str, namespace: str) -> None:
    """Show the version of this program.

    With --server also those of all that runs in a cluster, where what differs is marked.

    \b
      isthmus version
      isthmus --context east version --server
    """
    import asyncio

    from isthmus.cli.looking import versionviews

    server = asyncio.run(_asked(where, namespace)) if part == "server" else None
    click.echo(versionviews.rendered(server, output), nl=False)


async def _asked(where: Where, namespace: str) -> "Server":
    from isthmus.cli.looking.versions import look

    async with where.connected() as client:
        return await look(client, namespace)
