"""What the gateway serves for one export: exact names, the pods behind them, and who may call.

Everything is computed for one Service at a time, so that one change costs one Service.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from msgspec.structs import replace

from isthmus.core.protocol import protocol
from isthmus.model import addresses, names
from isthmus.model.exports import Export, Port
from isthmus.model.objects import Endpoint, EndpointSlice, Service
from isthmus.model.routes import Callers, Inbound, Place

FAMILIES = ("IPv4", "IPv6")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is the same for all exports of a cluster.

    ``closed`` is where the cluster's own API answers, ``closed_hosts`` where we do. A slice can be
    written by people who could reach neither, and the gateway must not do it for them.
    """

    domain: str = "cluster.local"
    closed: frozenset[Place] = frozenset()
    closed_hosts: frozenset[str] = frozenset()
    allow_loopback: bool = False

    def admits(self, place: Place) -> bool:
        refused = addresses.refusal(place.address, allow_loopback=self.allow_loopback)
        there = _reached(place)
        return refused is None and not (there in self.closed or there.address in self.closed_hosts)


def inbound(
    export: Export, service: Service, slices: Iterable[EndpointSlice], callers: Callers, site: Site
) -> tuple[Inbound, ...]:
    """Return what the gateway serves for ``export``, the digest of ``service`` and its ``slices``:
    nothing, unless somebody may call it."""
    if callers == Callers():
        return ()
    slices = tuple(slices)
    pods = _by_pod(slices) if export.pods else {}
    return tuple(
        Inbound(
            authority=f"{_authority(export, hostname, site)}:{port.port}",
            namespace=export.namespace,
            service=export.name,
            protocol=protocol(port),
            places=_places(service, pods[hostname] if hostname else slices, port, site),
            callers=callers,
        )
        for hostname in ("", *(pod.hostname for pod in export.pods))
        for port in export.ports
    )


def places(slices: Iterable[EndpointSlice], port: str) -> tuple[Place, ...]:
    """Return where the port of that name answers, whatever the addresses are, sorted."""
    return tuple(sorted(_served(_usable(_offered(slices, port))), key=_order))


def site(
    domain: str,
    api: tuple[Service, Iterable[EndpointSlice]],
    ours: Iterable[EndpointSlice],
    *,
    allow_loopback: bool,
) -> Site:
    """Return the site of a cluster whose API has that Service, and where we are in those slices."""
    service, slices = api
    virtual = frozenset(
        Place(address=ip, port=port.port)
        for ip in map(_canonical, service.spec.cluster_ips)
        for port in service.spec.ports
        if ip is not None
    )
    own = frozenset(map(_reached, _occupied(ours)))
    # On a loopback address there are others beside us, so that only the very ports are closed.
    hosts = frozenset(one.address for one in own if not ip_address(one.address).is_loopback)
    return Site(
        domain=domain,
        closed=frozenset(map(_reached, virtual | _occupied(slices))) | own,
        closed_hosts=hosts,
        allow_loopback=allow_loopback,
    )


def _occupied(slices: Iterable[EndpointSlice]) -> frozenset[Place]:
    """Return all places that slices name, ready or not."""
    return frozenset(
        place
        for one in slices
        for port in one.ports
        if port.port is not None
        for place in _served(_Offered(endpoint, port.port) for endpoint in one.endpoints)
    )


def _authority(export: Export, hostname: str, site: Site) -> str:
    return names.authority(export.namespace, export.name, site.domain, hostname)


@dataclass(frozen=True, slots=True)
class _Offered:
    """One endpoint, and the number that a port has there."""

    endpoint: Endpoint
    port: int


def _places(
    service: Service, slices: Sequence[EndpointSlice], port: Port, site: Site
) -> tuple[Place, ...]:
    """Return the places of one address family: a pod that has two addresses is one pod."""
    for family in service.spec.ip_families or FAMILIES:
        offered = list(_offered((one for one in slices if one.address_type == family), port.name))
        if not service.spec.publish_not_ready_addresses:
            offered = _usable(offered)
        found = {place for place in _served(offered) if site.admits(place)}
        if found:
            return tuple(sorted(found, key=_order))
    return ()


def _by_pod(slices: Iterable[EndpointSlice]) -> dict[str, list[EndpointSlice]]:
    """Return, for each name of a pod, the slices with its endpoints and no others."""
    found: dict[str, list[EndpointSlice]] = {}
    for one in slices:
        members: dict[str, tuple[Endpoint, ...]] = {}
        for endpoint in one.endpoints:
            if endpoint.hostname:
                former = members.get(endpoint.hostname, ())
                members[endpoint.hostname] = (*former, endpoint)
        for name, endpoints in members.items():
            found.setdefault(name, []).append(replace(one, endpoints=endpoints))
    return found


def _offered(slices: Iterable[EndpointSlice], port: str) -> Iterator[_Offered]:
    """Yield the endpoints that have the port; its number is the slice's, since a named target
    port can be another one in each pod."""
    for one in slices:
        for known in one.ports:
            if known.name == port and known.protocol == "TCP" and known.port is not None:
                yield from (_Offered(endpoint, known.port) for endpoint in one.endpoints)


def _usable(offered: Iterable[_Offered]) -> list[_Offered]:
    """Choose as kube-proxy does: what is ready, else what serves while it terminates.

    https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-to-terminating-endpoints
    """
    known = list(offered)
    ready = [one for one in known if one.endpoint.conditions.ready is not False]
    return ready or [one for one in known if _is_leaving(one.endpoint)]


def _is_leaving(endpoint: Endpoint) -> bool:
    conditions = endpoint.conditions
    return conditions.serving is not False and conditions.terminating is True


def _served(offered: Iterable[_Offered]) -> Iterator[Place]:
    for one in offered:
        for address in one.endpoint.addresses:
            canonical = _canonical(address)
            if canonical is not None:
                yield Place(address=canonical, port=one.port)


@lru_cache(maxsize=4096)
def _canonical(address: str) -> str | None:
    """Return the one way to write an IP address; None for names, which nobody has judged."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def _reached(place: Place) -> Place:
    """Return where packets to ``place`` arrive, which may be written in more than one way."""
    return replace(place, address=_destination(place.address))


@lru_cache(maxsize=4096)
def _destination(address: str) -> str:
    return str(addresses.meant(address) or address)


def _order(place: Place) -> tuple[str, int]:
    return place.address, place.port
