"""``isthmus proxy``: from options to an Envoy with a certificate."""

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.running.saying import logs
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.wire import Json

if TYPE_CHECKING:
    from isthmus.apps.proxy.config import Config

FILE = click.Path(dir_okay=False, path_type=Path)


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise click.BadParameter("not an IP address") from None


@click.command()
@click.option("--role", type=click.Choice(["gateway", "egress"]), required=True)
@click.option("--cluster-name", required=True, help="What other clusters call this one: east.")
@click.option("--controller", required=True, metavar="HOST:PORT", help="Signs certificates.")
@click.option("--ads", required=True, metavar="HOST:PORT", help="Tells Envoy what to carry.")
@click.option("--token-file", type=FILE, required=True, help="Of the service account (projected).")
@click.option("--trust-file", type=FILE, required=True, help="The trust anchors: anchors.pem.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Private to this proxy, and in memory: its key is there.",
)
@click.option("--mesh-domain", default=MESH_DOMAIN, show_default=True, help="As all clusters have.")
@click.option("--namespace", default="isthmus", show_default=True, help="Of proxy and controller.")
@click.option("--name", default="", help="Of the pod; else the machine's name.")
@click.option(
    "--address",
    type=_address,
    default="0.0.0.0",
    show_default=True,
    metavar="IP",
    help="Where callers are let in.",
)
@click.option(
    "--metrics",
    default="0.0.0.0:9991",
    show_default=True,
    metavar="HOST:PORT",
    help="/ready /stats/prometheus",
)
@click.option("--concurrency", default=2, show_default=True, help="Threads that carry calls.")
@click.option("--drain", default=30.0, show_default=True, help="Seconds for callers to leave.")
@click.option(
    "--linger",
    default=15.0,
    show_default=True,
    help="Of these: for those to come who have not heard that it ends.",
)
@logs
def proxy(**options: Json) -> None:
    """Carry calls between clusters: a gateway, or an egress.

    Obtains a certificate from the cluster's controller by the pod's token, keeps it fresh, and runs
    an Envoy with it. SIGTERM lets callers leave first.
    """
    import asyncio

    from isthmus.apps.proxy.config import Config, place

    for option in ("controller", "ads", "metrics"):
        options[option] = place(option, options[option])
    asyncio.run(_run(Config(**options)))


async def _run(config: "Config") -> None:
    """Run a proxy until SIGTERM or Ctrl-C."""
    import asyncio
    import signal

    from isthmus.apps.controller.logs import set_up
    from isthmus.apps.proxy.run import run
    from isthmus.cli.running.tidying import keep_tidy
    from isthmus.runtime.clock import SystemClock

    set_up(config.log_level, config.log_format)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    keep_tidy()
    await run(config, SystemClock(), stop)
