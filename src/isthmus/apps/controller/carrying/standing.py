"""How the proxies of this replica stand: what each has, waits for, and refuses, for people to read.

Nothing is asked of a proxy: all of it is what their streams have said.
"""

from collections.abc import Iterator
from datetime import timedelta
from operator import attrgetter

from msgspec.structs import replace

from isthmus import __version__
from isthmus.apps.controller.carrying.plane import DataPlane
from isthmus.apps.controller.carrying.proxies import Role
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.envoy.ads import Connected
from isthmus.model.objects import Key
from isthmus.model.pages import HeldResource, Listener, Proxies, Proxy, RefusedResource, Route
from isthmus.model.quoting import one_line
from isthmus.xds.references import Reference
from isthmus.xds.session import Session

MOST_PROXIES = 100
MOST_REFUSED = 20  # of one proxy
MOST_RESOURCES = 300  # of one Service: a hundred ports, and what each is made of
MOST_CALLERS = 50  # of one route
LONGEST = 500  # characters of what Envoy says


def standing(
    plane: DataPlane, config: Config, outside: Outside, service: Key | None = None
) -> Proxies:
    """Return how all proxies stand; to the resources of one ``service``, too, if it is named."""
    connected = sorted(plane.ads.connected, key=attrgetter("role", "name"))
    page = Proxies(
        replica=config.identity,
        cluster=config.cluster_name,
        version=__version__,
        time=outside.clock.utc(),
        problems=plane.authority.problems,
        telling=plane.proxies.is_telling,
        proxies=tuple(_proxy(plane, outside, one, service) for one in connected[:MOST_PROXIES]),
        left_out=max(0, len(connected) - MOST_PROXIES),
    )
    return page if service is None else _with_decisions(page, plane, service)


def _with_decisions(page: Proxies, plane: DataPlane, service: Key) -> Proxies:
    listeners = tuple(
        Listener(port=one.listener, link=one.link, authority=one.authority, protocol=one.protocol)
        for one in plane.carrying.outbound.get(service, ())
    )
    routes = tuple(
        Route(
            authority=one.authority,
            protocol=one.protocol,
            places=len(one.places),
            accounts=one.callers.exact[:MOST_CALLERS],
            prefixes=one.callers.prefixes[:MOST_CALLERS],
        )
        for one in plane.exporting.inbound.get(service, ())
    )
    return replace(page, listeners=listeners, routes=routes[:MOST_RESOURCES])


def _proxy(plane: DataPlane, outside: Outside, one: Connected, service: Key | None) -> Proxy:
    now = outside.clock.now()
    refused = one.session.refused
    shown = sorted(refused)[:MOST_REFUSED]
    return Proxy(
        name=one.name,
        role=one.role,
        identity=str(one.identity),
        since=outside.cluster_time() - timedelta(seconds=round(now - one.since)),
        quiet=round(max(0.0, now - one.heard), 1),
        pending=one.session.pending,
        refused_count=len(refused),
        refused=tuple(
            RefusedResource(
                type=_kind(reference.type_url),
                name=reference.name,
                message=one_line(refused[reference].message, LONGEST),
            )
            for reference in shown
        ),
        resources=() if service is None else tuple(_resources(plane, one, service)),
    )


def _resources(plane: DataPlane, one: Connected, service: Key) -> Iterator[HeldResource]:
    """Yield how a proxy stands to what it should have for ``service``."""
    role: Role = "gateway" if one.role == "gateway" else "egress"
    assembly = plane.proxies.assemblies[role]
    wanted = assembly.snapshot()
    for reference in sorted(assembly.parts.get(service, ()))[:MOST_RESOURCES]:
        entry = wanted.of(reference.type_url).get(reference.name)
        if entry is not None:
            yield _held(one.session, reference, entry.version)


def _held(session: Session, reference: Reference, version: str) -> HeldResource:
    kind, refusal = _kind(reference.type_url), session.refused.get(reference)
    if refusal is not None:
        message = one_line(refusal.message, LONGEST)
        return HeldResource(type=kind, name=reference.name, state="refused", message=message)
    has = session.acknowledged(*reference)
    if has == version:
        return HeldResource(type=kind, name=reference.name, state="held")
    return HeldResource(type=kind, name=reference.name, state="missing" if has is None else "older")


def _kind(type_url: str) -> str:
    return type_url.rpartition(".")[2]
