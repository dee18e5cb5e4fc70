"""``isthmus connect``: what can be typed."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from isthmus.cli import options
from isthmus.cli.exits import FAILED, TRY_AGAIN
from isthmus.cli.joining import fields
from isthmus.cli.where import Where
from isthmus.model.wire import Json

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from isthmus.cli.joining.connecting import End, Journal, Outcome, Wish
    from isthmus.cli.joining.gateway import Said


@dataclass(frozen=True, slots=True)
class Named:
    """One of the clusters, as it was typed."""

    context: str
    cluster: str
    option: str  # that says what it is called
    gateway: "Said"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """All that was typed."""

    source: Named
    target: Named
    wish: "Wish"
    namespace: str
    timeout: float


@click.command()
@options.context("--from", "source", text="Of the source.", required=True)
@options.context("--to", "target", text="Of the target.", required=True)
@click.option("--both", is_flag=True, help="Both ways: each imports what the other exports.")
@click.option("--from-name", type=options.cluster, help="What the source is called.")
@click.option("--to-name", type=options.cluster, help="What the target is called.")
@fields.settings
@fields.scope
@fields.gateway(whose="the target's gateway")
@fields.gateway("from-", "the source's gateway (with --both)")
@options.namespace
@options.force_conflicts
@options.timeout("2m")
@options.data
@click.pass_obj
def connect(where: Where, /, output: str, **given: Json) -> int:
    """Connect two clusters: a Grant in the target, a Link in the source.

    Tries everything in both before it writes anything, then waits until the Link is ready and the
    Grant accepted. Typed again it changes nothing, or goes on where it was interrupted. Clusters
    are called what their installations say.

    \b
      isthmus connect --from east --to west --set enableHeadlessServices=true
      isthmus connect --from east --to west --both --from-namespace shop
    """
    import asyncio

    from isthmus.cli.joining import connectviews
    from isthmus.cli.joining.connecting import Journal

    typed, journal = _typed(given), Journal()
    try:
        outcome = asyncio.run(_connected(where, typed, journal, is_told=output == "table"))
    except KeyboardInterrupt:
        click.echo(f"interrupted: {journal}", err=True)
        raise
    click.echo(connectviews.rendered(outcome, output), nl=False)
    if outcome.is_good:
        return 0
    click.echo(connectviews.trouble(outcome, typed.timeout), err=True)
    return FAILED if outcome.is_final else TRY_AGAIN


def _typed(given: dict[str, Json]) -> Typed:
    from isthmus.cli.joining.connecting import Wish

    settings = fields.read_settings(given)
    here, there = fields.read_gateway(given, {}, "from_"), fields.read_gateway(given, settings)
    return Typed(
        source=Named(given["source"], given["from_name"] or "", "--from-name", here),
        target=Named(given["target"], given["to_name"] or "", "--to-name", there),
        wish=Wish(
            settings=settings,
            scope=fields.read_scope(given),
            both=given["both"],
            force=given["force_conflicts"],
        ),
        namespace=given["namespace"],
        timeout=given["timeout"],
    )


async def _connected(where: Where, typed: Typed, journal: "Journal", *, is_told: bool) -> "Outcome":
    from contextlib import AsyncExitStack

    from isthmus.cli.joining import connecting
    from isthmus.cli.progress import progress
    from isthmus.runtime.clock import SystemClock

    async with AsyncExitStack() as stack:
        source = await _end(stack, where, typed.source, typed.namespace)
        target = await _end(stack, where, typed.target, typed.namespace)
        steps = await connecting.rehearse(source, target, typed.wish)
        await connecting.carry_out(steps, journal, click.echo if is_told else lambda _: None)
        live = progress(sys.stderr)
        return await connecting.settle(journal.done, live, SystemClock(), typed.timeout)


async def _end(stack: "AsyncExitStack", where: Where, named: Named, namespace: str) -> "End":
    from isthmus.cli import installation
    from isthmus.cli.joining.connecting import End
    from isthmus.cli.joining.sides import about, opened, seen

    client = await opened(stack, where, named.context)
    side = await seen(client, named.context, namespace)
    with about(named.context):
        name = installation.name(named.cluster, side.installation, named.option)
    return End(side, name, named.gateway)
