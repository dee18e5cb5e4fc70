"""Reads what a cluster exports and what it imports."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from isthmus.apps.controller.carrying.exporting import LOOSE, MARKED
from isthmus.cli.looking import listed, standing
from isthmus.cli.looking.standing import Exported, Mirrored
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import ENDPOINT_SLICES, GRANTS, LINKS, SERVICES
from isthmus.model.errors import Permanent
from isthmus.model.grants import Grant
from isthmus.model.links import Link
from isthmus.model.names import EXPORTED, MIRRORED
from isthmus.model.objects import EndpointSlice, Key, service_of


class NotJoined(Permanent):
    """A cluster was asked about that this one shares nothing with. Names those that it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look at; no namespace: all of them, no link: everybody."""

    namespace: str = ""
    link: str = ""
    exports: bool = True
    mirrors: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What was found; None for what nobody wanted to see."""

    exports: tuple[Exported, ...] | None = None
    mirrors: tuple[Mirrored, ...] | None = None
    unnamed: tuple[tuple[str, int], ...] = ()  # Links that refuse more than they name


async def look(client: Client, wanted: Wanted) -> Shared:
    """Look at exports, mirrors or both."""
    links = await listed.every(client, LINKS)
    grants = await listed.every(client, GRANTS)
    chosen = _chosen(links, grants, wanted)
    exports = await _exports(client, grants, wanted) if wanted.exports else None
    mirrors = await _mirrors(client, links, wanted) if wanted.mirrors else None
    more = tuple(standing.unnamed(chosen)) if wanted.mirrors else ()
    return Shared(exports=exports, mirrors=mirrors, unnamed=more)


def _chosen(links: Iterable[Link], grants: Iterable[Grant], wanted: Wanted) -> list[Link]:
    """Return the Links that are meant; raise :class:`NotJoined` if nothing of that name is."""
    links = list(links)
    known = {one.cluster for one in links} | {one.spec.cluster for one in grants}
    if wanted.link and wanted.link not in known:
        there = ", ".join(sorted(known)) or "none"
        raise NotJoined(
            f"there is neither a Link nor a Grant for {wanted.link} here; known are: {there}"
        )
    return [one for one in links if wanted.link in ("", one.cluster)]


async def _exports(client: Client, grants: Iterable[Grant], wanted: Wanted) -> tuple[Exported, ...]:
    """Look at what is marked, and at the same slices as the controller does."""
    marked = Selection(namespace=wanted.namespace, labels=EXPORTED)
    services = await listed.every(client, SERVICES, marked)
    slices: list[EndpointSlice] = []
    for selection in (MARKED, LOOSE):
        there = replace(selection, namespace=wanted.namespace)
        slices += await listed.every(client, ENDPOINT_SLICES, there)
    found = standing.exports(services, _by_service(slices), grants)
    if not wanted.link:
        return found
    return tuple(one for one in found if wanted.link in {given.cluster for given in one.granted})


async def _mirrors(client: Client, links: Iterable[Link], wanted: Wanted) -> tuple[Mirrored, ...]:
    ours = Selection(namespace=wanted.namespace, labels=f"{MIRRORED}=true")
    services = await listed.every(client, SERVICES, ours)
    slices = await listed.every(client, ENDPOINT_SLICES, ours)
    return tuple(
        one
        for one in standing.mirrors(services, _by_service(slices), links)
        if wanted.namespace in ("", one.key.namespace) and wanted.link in ("", one.link)
    )


def _by_service(slices: Iterable[EndpointSlice]) -> dict[Key, list[EndpointSlice]]:
    found: dict[Key, list[EndpointSlice]] = {}
    for one in slices:
        for key in service_of(one):
            found.setdefault(key, []).append(one)
    return found
