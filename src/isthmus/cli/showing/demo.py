"""``isthmus demo``: two joined clusters on this machine, and calls made as their pods make them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from isthmus.cli.where import Where


@click.group(invoke_without_command=True)
@click.option("--stay/--once", "stay", default=None, help="Stay until Ctrl-C, or end at once.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the kubeconfig goes; else a temporary directory.",
)
@click.pass_context
def demo(ctx: click.Context, stay: bool | None, directory: Path | None) -> None:
    """Join two clusters on this machine: no root, no Docker, no Kubernetes.

    Tells the whole story in about half a minute, with real Envoys and real certificates. On a
    terminal the clusters stay until Ctrl-C. When they end, nothing of them is left.
    """
    if ctx.invoked_subcommand is not None:
        return
    import asyncio
    import logging

    from isthmus.cli import render
    from isthmus.cli.showing import staging

    stays = sys.stdout.isatty() if stay is None else stay
    page = staging.Page(click.echo, render.style(sys.stdout))
    verbose = logging.getLogger().isEnabledFor(logging.INFO)
    asyncio.run(staging.run(page, directory, stay=stays, verbose=verbose))


@demo.command()
@click.argument("pod")
@click.argument("url")
@click.pass_obj
def call(where: "Where", pod: str, url: str) -> int:
    """Call URL as POD does: by the names that it knows, from its own address.

    POD is a cluster and a name; the kubeconfig is the one that the demo has printed. Exits with
    1 if the answer is a refusal, or if there is none.

    \b
      isthmus demo call east/curl http://nginx-set-0.nginx-svc-west
    """
    import asyncio

    from isthmus.cli.showing import calling

    answer = asyncio.run(calling.from_outside(where.kubeconfig, pod, url))
    click.echo(str(answer))
    return 1 if answer.status >= 400 else 0
