"""From a Service and its EndpointSlices to an Export, or to the reason why there is none."""

from collections.abc import Iterable

from msgspec.structs import replace

from isthmus.model import names, syntax
from isthmus.model.exports import Export, NamedPod, Port, Refused
from isthmus.model.objects import Endpoint, EndpointSlice, Key, Service

MOST_PORTS = 100  # of one export, lest it use up the listeners of all
LONGEST_MARK = 128  # characters of a UID, a version or a time


def digest(service: Service, slices: Iterable[EndpointSlice]) -> Export | Refused:
    """Say what ``service`` offers to other clusters."""
    refusal = _refusal(service)
    if refusal is not None:
        return refusal
    endpoints = [endpoint for one in slices for endpoint in one.endpoints]
    headless = _is_headless(service)
    export = Export(
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
    return sound(export)


def sound(export: Export) -> Export | Refused:
    """Judge what another cluster says about a Service, as if it meant harm.

    What a mirror can do without is left out; anything else that the API server here would not
    take is a reason to refuse.
    """
    if not (syntax.is_dns_label(export.namespace) and syntax.is_dns_label(export.name)):
        return _refused(export.key, "InvalidName", "not the name of a service")
    if max(map(len, (export.uid, export.version, export.created))) > LONGEST_MARK:
        return _refused(export.key, "InvalidName", "its UID, version or time is none")
    problem = _port_problem(export.ports)
    if problem is not None:
        return _refused(export.key, "InvalidPort", problem)
    pods = {pod.hostname: pod for pod in export.pods if syntax.is_dns_label(pod.hostname)}
    return replace(
        export,
        ports=tuple(map(_sound_port, export.ports)),
        pods=tuple(pods[name] for name in sorted(pods)),
        unnamed=export.unnamed or len(pods) < len(export.pods),
    )


def _port_problem(ports: tuple[Port, ...]) -> str | None:
    if len(ports) > MOST_PORTS:
        return f"service has {len(ports)} ports; {MOST_PORTS} are carried at most"
    if len({port.port for port in ports}) < len(ports):
        return "two ports have the same number"
    if len({port.name for port in ports}) < len(ports):
        return "two ports have the same name"
    for port in ports:
        if not syntax.is_port(port.port):
            return f"{port.port} is not a port"
        if not syntax.is_dns_label(port.name) and (port.name or len(ports) > 1):
            return f"{port.name[:64]!r} is not the name of a port"
    return None


def _sound_port(port: Port) -> Port:
    target, protocol = port.target_port, port.app_protocol
    return replace(
        port,
        target_port=target if target is not None and syntax.is_target_port(target) else None,
        app_protocol=protocol if protocol and syntax.is_qualified_name(protocol) else None,
    )


def _refused(key: Key, reason: str, message: str) -> Refused:
    return Refused(namespace=key.namespace, name=key.name, reason=reason, message=message)


def _refusal(service: Service) -> Refused | None:
    key = service.metadata.key
    if service.metadata.labels.get(names.MIRRORED) == "true":
        return _refused(key, "IsMirror", "a mirror is never exported again; export the original")
    if service.spec.type == "ExternalName":
        return _refused(key, "ExternalName", "an ExternalName service has no endpoints to reach")
    if not service.spec.ports:
        headless = "headless service" if _is_headless(service) else "service"
        return _refused(key, "NoPorts", f"{headless} has no ports")
    if not _ports(service):
        protocols = "/".join(sorted({port.protocol for port in service.spec.ports}))
        message = f"service has only {protocols} ports; only TCP is carried"
        return _refused(key, "NoTCPPorts", message)
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
    return endpoint.hostname is not None and syntax.is_dns_label(endpoint.hostname)


def _named(endpoints: Iterable[Endpoint]) -> tuple[NamedPod, ...]:
    """Return the pods with a usable name; one that is in two slices is ready if either says so."""
    ready: dict[str, bool] = {}
    for endpoint in endpoints:
        if endpoint.hostname is not None and _has_name(endpoint):
            ready[endpoint.hostname] = ready.get(endpoint.hostname, False) or _is_ready(endpoint)
    return tuple(NamedPod(hostname=name, ready=ready[name]) for name in sorted(ready))
