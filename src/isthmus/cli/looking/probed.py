"""How the gateways of linked clusters are: what each Link says, and what controllers measure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from isthmus.cli import render
from isthmus.cli.looking import listed, ours, units
from isthmus.cli.looking.exposition import Numbers
from isthmus.cli.looking.ours import Page
from isthmus.install.parts import ADMIN
from isthmus.kube.client import Client
from isthmus.kube.resources import LINKS
from isthmus.model.errors import IsthmusError, Permanent
from isthmus.model.links import Link
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock

ALIVE, LATENCY, LEADING = "gateway_alive", "gateway_latency", "isthmus_leading"
TARGET = "target_cluster_name"  # the label of both
PAGE = Page(ADMIN, "/metrics", (ALIVE, LATENCY, LEADING))
_COLUMNS = ("Cluster", "Alive", "Num_svc", "Latency")

Measured: TypeAlias = Mapping[tuple[str, str], float]  # by name and cluster


class NoSuchLink(Permanent):
    """A Link was asked for that is not there. Names those that are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The gateway of one linked cluster; None stands for what nobody knows."""

    cluster: str
    addresses: tuple[str, ...]
    port: int
    alive: bool | None
    services: int | None
    latency: float | None  # milliseconds


@dataclass(frozen=True, slots=True)
class Gateways:
    """All that were asked for; ``unread`` says why nothing was measured, if so."""

    gateways: tuple[Gateway, ...]
    unread: str = ""


async def look(client: Client, clusters: tuple[str, ...], namespace: str) -> Gateways:
    """Look at the gateways of these clusters, or of all."""
    links = chosen(await listed.every(client, LINKS), clusters)
    try:
        controllers = await ours.running(client, namespace, "controller")
    except IsthmusError as error:
        return Gateways(judged(links, {}), str(error))
    found = await ours.read(client, controllers, PAGE, SystemClock())
    if not found.readings:
        return Gateways(judged(links, {}), str(found.unread[0]))
    return Gateways(judged(links, measured(one.numbers for one in found.readings)))


def chosen(links: Iterable[Link], clusters: tuple[str, ...]) -> tuple[Link, ...]:
    """Return the Links to these clusters, or all; raise :class:`NoSuchLink`."""
    known = {one.cluster: one for one in links}
    for one in clusters:
        if one not in known:
            there = ", ".join(sorted(known)) or "none"
            raise NoSuchLink(f"there is no Link {one} in this cluster; known are: {there}")
    return tuple(known[name] for name in sorted(clusters or known))


def measured(replicas: Iterable[Numbers]) -> Measured:
    """Return what controllers measure; where they differ, the one that leads has the last word."""

    def leads(numbers: Numbers) -> bool:
        return any(value for series, value in numbers.items() if series.name == LEADING)

    return {
        (series.name, series.label(TARGET)): value
        for numbers in sorted(replicas, key=leads)
        for series, value in numbers.items()
    }


def judged(links: Iterable[Link], measured: Measured) -> tuple[Gateway, ...]:
    return tuple(_judged(one, measured) for one in links)


def _judged(link: Link, measured: Measured) -> Gateway:
    """Say how a gateway is: a probe is newer than the Link's status, which says whether there has
    been any."""
    alive = _recorded(link)
    if alive is not None:
        alive = bool(measured.get((ALIVE, link.cluster), alive))
    return Gateway(
        cluster=link.cluster,
        addresses=link.spec.gateway.addresses,
        port=link.spec.gateway.port,
        alive=alive,
        services=link.status.mirrors,
        # Of a gateway that is down it is what it was when it was up.
        latency=measured.get((LATENCY, link.cluster)) if alive else None,
    )


def _recorded(link: Link) -> bool | None:
    for one in link.status.conditions:
        if one.type == "GatewayAlive" and one.status in ("True", "False"):
            return one.status == "True"
    return None


def rendered(found: Gateways, output: str) -> str:
    if output != "table":
        return render.document({"gateways": [_document(one) for one in found.gateways]}, output)
    return render.rows(_COLUMNS, map(_row, found.gateways)) + "\n"


def _row(one: Gateway) -> tuple[str | int | None, ...]:
    alive = units.UNKNOWN if one.alive is None else str(one.alive)
    return one.cluster, alive, one.services, units.milliseconds(one.latency)


def _document(one: Gateway) -> JsonObject:
    return {
        "cluster": one.cluster,
        "addresses": list(one.addresses),
        "port": one.port,
        "alive": one.alive,
        "services": one.services,
        "latencyMs": one.latency,
    }
