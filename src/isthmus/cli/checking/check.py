"""``isthmus check``: what can be typed."""

import sys

import click

from isthmus.cli.where import Where


@click.command()
@click.option(
    "-o", "output", type=click.Choice(["table", "json", "yaml", "short"]), default="table"
)
@click.pass_obj
def check(where: Where, output: str) -> int:
    """Check that a cluster is reachable and fit for Isthmus."""
    import asyncio

    from isthmus.cli import render
    from isthmus.cli.checking import checks

    found = asyncio.run(checks.check(where.kubeconfig, where.context))
    style = render.style(sys.stdout)
    click.echo(render.checks(found, output, style), nl=False)
    return 1 if checks.failed(found) else 0
