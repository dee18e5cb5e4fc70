"""``isthmus link`` and ``isthmus unlink``: what can be typed."""

import sys
from typing import TYPE_CHECKING

import click

from isthmus.cli import completing, options
from isthmus.cli.joining import fields
from isthmus.cli.where import Where
from isthmus.model.wire import Json, JsonObject

if TYPE_CHECKING:
    from isthmus.cli.applying import Change
    from isthmus.cli.joining.gateway import Said


@click.command()
@click.option("--cluster-name", type=options.cluster, help="Of the target: west.")
@fields.settings
@fields.gateway(whose="the target's gateway")
@options.namespace
@options.apply
@options.context("--from", "source", text="With --apply: the source's context.")
@options.force_conflicts
@options.manifest
@click.pass_obj
def link(where: Where, /, output: str, **given: Json) -> None:
    """Print the Link by which another cluster imports what this one exports.

    Runs in the context of the target; the Link is for the source. Its gateway's address is that
    of the target's Service isthmus-gateway.

    \b
      isthmus --context west link --cluster-name west --set enableHeadlessServices=true |
        kubectl --context east apply -f -
      isthmus --context west link --apply --from east
    """
    import asyncio

    from isthmus.cli import render

    source, is_applied, force = (given[one] for one in ("source", "apply", "force_conflicts"))
    if is_applied != bool(source):
        raise click.UsageError("--apply and --from CONTEXT go together: the Link is for the source")
    settings = fields.read_settings(given)
    gateway = fields.read_gateway(given, settings)
    made = asyncio.run(
        _linked(where, given["cluster_name"] or "", given["namespace"], gateway, settings)
    )
    if not is_applied:
        click.echo(render.manifests([made], output), nl=False)
        return
    change = asyncio.run(_applied(where, where.at(source), made, force))
    click.echo(f"{change} {change.outcome} in {source}")


async def _linked(
    where: Where, cluster: str, namespace: str, gateway: "Said", settings: JsonObject
) -> JsonObject:
    from isthmus.cli.joining import linking

    async with where.connected() as client:
        return await linking.link(client, cluster, namespace, gateway, settings)


async def _applied(target: Where, source: Where, made: JsonObject, force: bool) -> "Change":
    from isthmus.cli.applying import applied
    from isthmus.cli.installation import require_kinds
    from isthmus.cli.joining.sides import about, label, require_two
    from isthmus.kube.plain import KINDS

    there, here = label(target, None), str(source.context)
    with about(there):
        target_uid = await _uid(target)
    with about(here):
        require_two((here, there), (await _uid(source), target_uid))
        async with source.connected() as client:
            await require_kinds(client)
            return await applied(client, KINDS["Link"], made, force=force)


async def _uid(where: Where) -> str:
    """Return by what a cluster is known; nothing where we may not look."""
    from isthmus.cli.installation import cluster_uid
    from isthmus.kube.errors import Forbidden, NotFound

    async with where.connected() as client:
        try:
            return await cluster_uid(client)
        except (Forbidden, NotFound):
            return ""


@click.command()
@click.argument("cluster", type=options.cluster, shell_complete=completing.links)
@options.apply
@click.option(
    "--force",
    is_flag=True,
    help="With --apply: remove the mirrors here and now, for a controller that is gone.",
)
@options.timeout("2m")
@options.manifest
@click.pass_obj
def unlink(
    where: Where, /, cluster: str, apply: bool, force: bool, timeout: float, output: str
) -> None:
    """Stop importing what CLUSTER exports: delete the Link to it, and with it its mirrors.

    Runs in the context of the source. Prints what to delete, or deletes it with --apply and waits
    until all mirrors are gone.

    \b
      isthmus --context east unlink west | kubectl --context east delete -f -
      isthmus --context east unlink west --apply
      isthmus --context east unlink west --apply --force
    """
    import asyncio

    from isthmus.cli import render
    from isthmus.cli.joining import documents, unlinking
    from isthmus.cli.progress import progress
    from isthmus.kube.resources import LINKS
    from isthmus.runtime.clock import SystemClock

    if force and not apply:
        raise click.UsageError("--force goes with --apply: there is nothing to force in printing")
    if not apply:
        click.echo(render.manifests([documents.document(LINKS, cluster)], output), nl=False)
        return

    async def ended() -> str:
        async with where.connected() as client:
            work = unlinking.Unlinking(client, cluster, SystemClock(), progress(sys.stderr))
            return await (work.force() if force else work.wait(timeout))

    try:
        click.echo(asyncio.run(ended()))
    except KeyboardInterrupt:
        click.echo("interrupted: the same command goes on from here", err=True)
        raise
