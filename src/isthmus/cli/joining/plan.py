"""``isthmus plan``: what can be typed."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click

from isthmus.cli import options
from isthmus.cli.joining import fields
from isthmus.cli.where import Where
from isthmus.model.wire import Json, JsonObject

if TYPE_CHECKING:
    from isthmus.cli.joining.forecast import Forecast
    from isthmus.model.objects import Key


@click.command()
@click.argument("service", required=False)
@click.option("-n", "service_namespace", default="default", metavar="NAME", help="Of SERVICE.")
@click.option("--link", "file", type=fields.FILE, help="A Link that is not there yet; - for stdin.")
@options.context("--from", "source", text="Of the source; else the one in use.")
@options.context("--to", "target", text="Of the target; else the Link's name.")
@click.option("--from-name", type=options.cluster, help="What the source is called.")
@click.option("--to-name", type=options.cluster, help="What the target is called.")
@options.namespace
@options.data
@click.pass_obj
def plan(where: Where, /, service: str | None, output: str, **given: Json) -> None:
    """Show what a Link, or the export of SERVICE, would change in the source, and change nothing.

    Reads both clusters, and lets the controller's own planner decide. A Link that is there already
    is found by its target; SERVICE is planned as if it were exported already.

    \b
      isthmus --context west link --cluster-name west > west.yaml
      isthmus --context east plan --link west.yaml
      isthmus plan web -n shop --from east --to west
    """
    import asyncio

    from isthmus.cli.joining import planviews

    document = None if given["file"] is None else fields.read_document(given["file"])
    export = None if service is None else _key(service, given["service_namespace"])
    found = asyncio.run(_planned(where, document, export, given))
    click.echo(planviews.rendered(found, output), nl=False)


def _key(service: str, namespace: str) -> "Key":
    from isthmus.model.objects import Key

    before, slash, name = service.partition("/")
    return Key(before, name) if slash else Key(namespace, service)


async def _planned(
    where: Where, document: JsonObject | None, export: "Key | None", given: dict[str, Json]
) -> "Forecast":
    from isthmus.cli.installation import installed, name
    from isthmus.cli.joining import planning
    from isthmus.cli.joining.forecast import forecast
    from isthmus.cli.joining.sides import about, label, opened, seen

    space = given["namespace"]
    async with AsyncExitStack() as stack:
        client = await opened(stack, where, given["source"])
        near = await seen(client, label(where, given["source"]), space)
        link = None if document is None else planning.read_link(document)
        if link is None and not given["target"]:
            with about(near.context):
                link = await planning.existing(client, given["to_name"] or "")
        target = given["target"] or (link.cluster if link else "")
        far = await opened(stack, where, target)
        with about(target):
            shown = await installed(far, space)
        with about(near.context):
            if link is None:
                called = given["to_name"] or shown.cluster or target
                link = await planning.existing(client, called)
            source = ""
            if link.spec.via == "gateway":
                source = name(given["from_name"] or "", near.installation, "--from-name")
            here = await planning.read_here(client, space)
        with about(target):
            name(link.cluster, shown, "the Link")
            there = await planning.read_there(far, shown, link, source, export)
        planning.check_apart(here, there)
        return forecast(here, there, link, export)
