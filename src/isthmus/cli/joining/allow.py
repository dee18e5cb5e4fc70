"""``isthmus allow`` and ``isthmus deny``: what can be typed."""

from typing import TYPE_CHECKING

import click

from isthmus.cli import options
from isthmus.cli.joining import fields
from isthmus.cli.where import Where
from isthmus.model.syntax import is_subdomain
from isthmus.model.wire import Json

if TYPE_CHECKING:
    from isthmus.cli.applying import Change
    from isthmus.model.grants import GrantSpec


def _name(text: str) -> str:
    if not is_subdomain(text):
        raise click.BadParameter(
            f"{text[:63]!r} is not a name that a Grant can have: lower-case letters, digits, "
            "dashes and dots"
        )
    return text


@click.command()
@click.argument("cluster", type=options.cluster)
@fields.scope
@click.option("--name", type=_name, metavar="NAME", help="Of the Grant; else the cluster's.")
@options.apply
@options.force_conflicts
@options.manifest
@click.pass_obj
def allow(where: Where, /, cluster: str, name: str | None, output: str, **given: Json) -> None:
    """Let CLUSTER see and call what this cluster exports: print the Grant that says so.

    Runs in the context of the target. What is not said is not restricted; Grants of different names
    add up.

    \b
      isthmus --context west allow east | kubectl --context west apply -f -
      isthmus --context west allow east --apply \\
        --from-service-account default/curl --to-service default/web
    """
    import asyncio

    from isthmus.cli import render
    from isthmus.cli.joining import documents

    spec = fields.read_scope(given).spec(cluster)
    if not given["apply"]:
        click.echo(render.manifests([documents.grant(name or cluster, spec)], output), nl=False)
        return
    change = asyncio.run(_allowed(where, name or cluster, spec, given["force_conflicts"]))
    click.echo(f"{change} {change.outcome}")


async def _allowed(where: Where, name: str, spec: "GrantSpec", force: bool) -> "Change":
    from isthmus.cli.installation import require_kinds
    from isthmus.cli.joining import granting
    from isthmus.kube.resources import GRANTS

    async with where.connected() as client:
        await require_kinds(client, GRANTS)
        return await granting.allow(client, name, spec, force=force)


@click.command()
@click.argument("cluster", type=options.cluster)
@options.apply
@options.manifest
@click.pass_obj
def deny(where: Where, /, cluster: str, apply: bool, output: str) -> None:
    """Shut CLUSTER out again: delete all Grants that let it in, whatever they are called.

    Runs in the context of the target. Prints what to delete, or deletes it with --apply. New calls
    fail within seconds; its Link stays, and says that it is forbidden.

    \b
      isthmus --context west deny east | kubectl --context west delete -f -
      isthmus --context west deny east --apply
    """
    import asyncio

    asyncio.run(_denied(where, cluster, apply, output))


async def _denied(where: Where, cluster: str, apply: bool, output: str) -> None:
    from isthmus.cli import render
    from isthmus.cli.installation import require_kinds
    from isthmus.cli.joining import documents, granting
    from isthmus.kube.resources import GRANTS

    async with where.connected() as client:
        await require_kinds(client, GRANTS)
        found = await granting.grants_for(client, cluster)
        if not found:
            click.echo(f"no Grant lets {cluster} in: nothing to do", err=True)
        elif not apply:
            named = [documents.document(GRANTS, one.name) for one in found]
            click.echo(render.manifests(named, output), nl=False)
        for one in found if apply else ():
            await granting.deny(client, one)
            click.echo(f"grant.isthmus.dev/{one.name} deleted")
