"""The EndpointSlices of a mirror: where calls to it go."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, ip_address

from msgspec.structs import replace

from isthmus.core import listeners, naming
from isthmus.core.mirror import owner, ownership, stands_for
from isthmus.core.world import Address, Claim, LinkView, World
from isthmus.model import addresses, names
from isthmus.model.exports import Export
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Service,
)

MOST_ENDPOINTS = 1000  # in one slice; the API server refuses more


def desired(key: Key, claim: Claim, world: World, mirror: Service) -> list[EndpointSlice]:
    """Return the slices of the mirror ``key``, one or more for each address family in use."""
    view = world.links[claim.link_uid]
    export = view.exports[claim.export]
    if mirror.spec.cluster_ip == "None":
        endpoints = list(_pods(export, view, world))
        ports = tuple(_port(port.name, port.port, port.app_protocol) for port in export.ports)
    elif view.link.spec.data_plane == "envoy":
        endpoints = [_endpoint(one, view, _is_ready(claim, export)) for one in world.egress]
        ports = _listener_ports(key, export, world)
    else:
        gateways = (Address(ip) for ip in dict.fromkeys(view.gateway_addresses))
        endpoints = [_endpoint(one, view, _is_ready(claim, export)) for one in gateways]
        port_there = view.link.spec.gateway.port
        ports = tuple(_port(port.name, port_there, port.app_protocol) for port in export.ports)
    usable = [one for one in endpoints if _may_be_called(one, world)]
    return list(_packed(_metadata(key, claim, view, export), usable, ports))


def own(world: World, key: Key) -> list[EndpointSlice]:
    """Return the slices of ``key`` that we wrote. Others may exist: a tenant can make one."""
    return [
        one
        for one in world.slices.get(key, ())
        if one.metadata.labels.get(names.MANAGED_BY) == names.MANAGER
        and owner(one.metadata) in world.links
    ]


def repaired(observed: EndpointSlice, wanted: EndpointSlice) -> EndpointSlice | None:
    """Return ``observed`` turned into ``wanted``, or None if it already is."""
    found = observed.metadata
    labels, annotations = wanted.metadata.labels, wanted.metadata.annotations
    if (
        observed.endpoints == wanted.endpoints
        and observed.ports == wanted.ports
        and found.labels == labels
        and found.annotations == annotations
    ):
        return None
    return replace(wanted, metadata=replace(found, labels=labels, annotations=annotations))


def _is_ready(claim: Claim, export: Export) -> bool:
    if claim.hostname:
        return any(pod.ready for pod in export.pods if pod.hostname == claim.hostname)
    return export.ready


def _endpoint(address: Address, view: LinkView, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=(address.ip,),
        conditions=EndpointConditions(ready=address.ready and ready and view.gateway_alive),
    )


def _pods(export: Export, view: LinkView, world: World) -> Iterator[Endpoint]:
    """Yield each named pod at the address of its endpoint mirror, once that has one."""
    for pod in export.pods:
        name = naming.endpoint_mirror_name(export, pod.hostname, view.link)
        stand_in = world.services.get(Key(export.namespace, name))
        if stand_in is None or not stand_in.spec.cluster_ip:
            continue  # the API server assigns it, and the watch brings this key back
        if not stands_for(
            stand_in.metadata, Claim(view.link.uid, export.key, pod.hostname), view.link
        ):
            continue  # the name is somebody else's: never send traffic there
        yield Endpoint(
            addresses=(stand_in.spec.cluster_ip,),
            hostname=pod.hostname,
            conditions=EndpointConditions(ready=pod.ready and view.gateway_alive),
        )


def _port(name: str, port: int, app_protocol: str | None) -> EndpointPort:
    return EndpointPort(name=name, port=port, app_protocol=app_protocol)


def _listener_ports(key: Key, export: Export, world: World) -> tuple[EndpointPort, ...]:
    known = listeners.recorded(own(world, key))
    ports = listeners.chosen(key, (p.name for p in export.ports), known, world.listeners)
    return tuple(_port(p.name, ports[p.name], p.app_protocol) for p in export.ports)


def _metadata(key: Key, claim: Claim, view: LinkView, export: Export) -> Metadata:
    labels, annotations = ownership(claim, export, view.link)
    labels |= {names.SERVICE_NAME: key.name, names.MANAGED_BY: names.MANAGER}
    if view.link.spec.data_plane == "linkerd" and view.link.spec.gateway.identity:
        annotations |= {names.GATEWAY_IDENTITY: view.link.spec.gateway.identity}
    return Metadata(namespace=key.namespace, name=key.name, labels=labels, annotations=annotations)


def _may_be_called(endpoint: Endpoint, world: World) -> bool:
    refused = addresses.refusal(endpoint.addresses[0], allow_loopback=world.allow_loopback)
    return refused is None


def _packed(
    metadata: Metadata, endpoints: Iterable[Endpoint], ports: tuple[EndpointPort, ...]
) -> Iterator[EndpointSlice]:
    """Yield slices of one address family each; an IPv4 one exists even without endpoints,
    because it is where the listener ports are recorded."""
    # Resolvers and caches answer in any order: sorted, the same answer is the same slice.
    ordered = sorted(endpoints, key=lambda one: (one.hostname or "", one.addresses))
    for family in ("IPv4", "IPv6"):
        members = [one for one in ordered if _family(one.addresses[0]) == family]
        if not members and family == "IPv6":
            continue
        for index, start in enumerate(range(0, max(len(members), 1), MOST_ENDPOINTS)):
            suffix = f"-{family.lower()}" + (f"-{index}" if index else "")
            yield EndpointSlice(
                metadata=replace(metadata, name=metadata.name + suffix),
                address_type=family,
                endpoints=tuple(members[start : start + MOST_ENDPOINTS]),
                ports=ports,
            )


@lru_cache(maxsize=4096)  # all mirrors lead to the same few proxies or gateways
def _family(address: str) -> str | None:
    """Return the family of an address; None for names, which slices do not hold."""
    try:
        ip = ip_address(address)
    except ValueError:
        return None
    if isinstance(ip, IPv4Address):
        return "IPv4"
    # One that stands for an IPv4 address belongs to neither family of slices.
    return "IPv6" if ip.ipv4_mapped is None and ip.scope_id is None else None
