"""``isthmus stat``: what can be typed."""

import sys
from typing import TYPE_CHECKING

import click

from isthmus.cli import completing, options
from isthmus.cli.where import Where
from isthmus.model.syntax import is_dns_label

if TYPE_CHECKING:
    from isthmus.cli.looking.sampling import Sample, Wanted

SHORTEST, LONGEST = 0.1, 3600.0  # seconds


def _window(text: str) -> float:
    found = options.duration(text)
    if not SHORTEST <= found <= LONGEST:
        raise click.BadParameter("a window is from 100ms to 1h long")
    return found


def _named(text: str) -> tuple[str, str]:
    """Read a namespace, which may be left out, and a name."""
    namespace, slash, name = text.rpartition("/")
    if not is_dns_label(name) or (slash and not is_dns_label(namespace)):
        raise click.BadParameter(f"{text[:127]!r} is neither a name nor namespace/name")
    return namespace, name


@click.command()
@click.argument("service", type=_named, required=False, metavar="[SERVICE]")
@click.option(
    "--link", metavar="CLUSTER", shell_complete=completing.links, help="Of one link only."
)
@click.option("--direction", type=click.Choice(["in", "out"]), help="One direction only.")
@click.option(
    "--by",
    type=click.Choice(["service", "link"]),
    default="service",
    show_default=True,
    help="What is added up.",
)
@click.option(
    "--window",
    type=_window,
    default="10s",
    show_default=True,
    metavar="TIME",
    help="For how long to look.",
)
@click.option("--total", is_flag=True, help="Do not wait: show all since the proxies started.")
@options.data
@options.namespace
@click.pass_obj
def stat(where: Where, /, service: tuple[str, str] | None, **chosen: object) -> None:
    """Show the traffic of links and services.

    How many requests, how many of them succeed and how long they take; connections and bytes;
    and who is denied.

    SERVICE is a name, or namespace/name: at the egress (out) that of the mirror, at the gateway
    (in) that of the export. A request succeeds unless it is answered with 5xx. Proxies add up the
    times that requests take every 5 seconds, so that these lag a little. Bytes go In from callers
    and Out to them. Ports that carry TCP have connections and bytes only.

    \b
      isthmus --context east stat
      isthmus --context east stat default/nginx-svc-west --window 1m
      isthmus --context west stat --direction in --total -o json
    """
    import asyncio

    from isthmus.cli.looking import statviews
    from isthmus.cli.looking.golden import Line
    from isthmus.cli.looking.sampling import Wanted

    namespace, name = service or ("", "")
    wanted = Wanted(
        namespace=str(chosen["namespace"]),
        seconds=None if chosen["total"] else float(str(chosen["window"])),
        only=Line(str(chosen["direction"] or ""), str(chosen["link"] or ""), namespace, name),
        by_link=chosen["by"] == "link",
    )
    found = asyncio.run(_sampled(where, wanted))
    for error in found.unread:
        click.echo(f"not counted: {error}", err=True)
    click.echo(statviews.rendered(found, str(chosen["output"])), nl=False)


async def _sampled(where: Where, wanted: "Wanted") -> "Sample":
    from isthmus.cli.looking.sampling import sampled
    from isthmus.runtime.clock import SystemClock

    def waiting(seconds: float) -> None:
        if sys.stderr.isatty():
            click.echo(f"looking for {seconds:g} s", err=True)

    async with where.connected() as client:
        return await sampled(client, wanted, SystemClock(), waiting)
