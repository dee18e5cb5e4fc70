"""``isthmus demo``: two joined clusters on this machine, and commands run as their pods."""

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

    Tells the whole story in about a minute, with the commands that you would type, real Envoys and
    real certificates. On a terminal the clusters stay until Ctrl-C, for you to go on; else they are
    cleaned up. When they end, nothing of them is left; of a demo that was killed, the next one
    removes what is left.

    \b
      isthmus demo
      isthmus demo --once
      isthmus -v demo --stay
    """
    if ctx.invoked_subcommand is not None:
        return
    import asyncio
    import logging

    from isthmus.cli import render
    from isthmus.cli.showing import staging

    stays = sys.stdout.isatty() if stay is None else stay
    page = staging.Page(click.echo, render.style(sys.stdout))
    verbose = logging.getLogger("isthmus").isEnabledFor(logging.INFO)
    asyncio.run(staging.run(page, directory, stay=stays, verbose=verbose))


@demo.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("pod")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def execute(where: "Where", pod: str, command: tuple[str, ...]) -> int:
    """Run COMMAND as POD of a demo: by the names that it knows, from its own address.

    POD is a cluster and a name; the kubeconfig is the one that the demo has printed. As pods share
    this machine, its own programs would not see what a pod sees. There are built-in ones instead:

    \b
      curl [-s] [-S] [-i] [-I] [-f] [-v] [-H HEADER] [-X METHOD] [-m SECONDS] URL
      nslookup NAME
      getent hosts NAME

    `kubectl exec` runs the same. Exits as the command does.

    \b
      isthmus demo exec east/curl -- curl -i http://nginx-set-0.nginx-svc-west
      isthmus demo exec east/curl -- nslookup nginx-svc-west
      kubectl --context east exec curl -- curl http://nginx-set-0.nginx-svc-west
    """
    import asyncio

    from isthmus.cli.showing import executing

    output = asyncio.run(executing.execute(where, pod, command))
    click.echo(output.out, nl=False)
    click.echo(output.err, nl=False, err=True)
    return output.code
