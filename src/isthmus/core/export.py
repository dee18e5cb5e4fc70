"""From a Service and its EndpointSlices to an Export, or to the reason why there is none."""

from collections.abc import Iterable

from isthmus.model import names
from isthmus.model.exports import Export, NamedPod, Port, Refused
from isthmus.model.objects import Endpoint, EndpointSlice, Service


def digest(service: Service, slices: Iterable[EndpointSlice]) -> Export | Refused:
    """Say what ``service`` offers to other clusters."""
    refusal = _refusal(service)
    if refusal is not None:
        return refusal
    endpoints = [endpoint for one in slices for endpoint in one.endpoints]
    headless = _is_headless(service)
    return Export(
        namespace=service.metadata.namespace,
        name=service.metadata.name,
        uid=service.metadata.uid,
        version=service.metadata.resource_version,
        ports=_ports(service),
        headless=headless,
        ready=any(map(_is_ready, endpoints)),
        pods=_named(endpoints) if headless else (),
        unnamed=headless and not all(map(_has_name, endpoints)),
        labels=service.metadata.labels,
        annotations=service.metadata.annotations,
        created=service.metadata.creation_timestamp or "",
    )


def _refusal(service: Service) -> Refused | None:
    def refused(reason: str, message: str) -> Refused:
        key = service.metadata.key
        return Refused(namespace=key.namespace, name=key.name, reason=reason, message=message)

    if service.metadata.labels.get(names.MIRRORED) == "true":
        return refused("IsMirror", "a mirror is never exported again; export the original")
    if service.spec.type == "ExternalName":
        return refused("ExternalName", "an ExternalName service has no endpoints to reach")
    if not service.spec.ports:
        headless = "headless service" if _is_headless(service) else "service"
        return refused("NoPorts", f"{headless} has no ports")
    if not _ports(service):
        protocols = "/".join(sorted({port.protocol for port in service.spec.ports}))
        return refused("NoTCPPorts", f"service has only {protocols} ports; only TCP is carried")
    return None


def _is_headless(service: Service) -> bool:
    return service.spec.cluster_ip == "None"


def _ports(service: Service) -> tuple[Port, ...]:
    return tuple(
        Port(
            port=port.port,
            name=port.name,
            target_port=port.target_port,
            app_protocol=port.app_protocol,
        )
        for port in service.spec.ports
        if port.protocol == "TCP"
    )


def _is_ready(endpoint: Endpoint) -> bool:
    return endpoint.conditions.ready is not False


def _has_name(endpoint: Endpoint) -> bool:
    return endpoint.hostname is not None and names.is_dns_label(endpoint.hostname)


def _named(endpoints: Iterable[Endpoint]) -> tuple[NamedPod, ...]:
    """Return the pods with a usable name; one that is in two slices is ready if either says so."""
    ready: dict[str, bool] = {}
    for endpoint in endpoints:
        if endpoint.hostname is not None and _has_name(endpoint):
            ready[endpoint.hostname] = ready.get(endpoint.hostname, False) or _is_ready(endpoint)
    return tuple(NamedPod(hostname=name, ready=ready[name]) for name in sorted(ready))
