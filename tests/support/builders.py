"""Values with defaults for everything that a test is not about."""

from collections.abc import Iterable, Mapping

from isthmus.core import link as links
from isthmus.core.world import Claim, LinkView
from isthmus.model.exports import Export, NamedPod, Port
from isthmus.model.links import Gateway, Link, LinkSpec
from isthmus.model.names import EXPORTED, SERVICE_NAME
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Namespace,
    Pod,
    PodMetadata,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)

EXPORT_LABEL = {EXPORTED: "true"}


def service(
    name: str = "web",
    namespace: str = "shop",
    *,
    spec: ServiceSpec | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Service:
    return Service(
        metadata=Metadata(
            name=name,
            namespace=namespace,
            uid=f"uid-of-{name}",
            resource_version="7",
            labels=labels or {},
            annotations=annotations or {},
        ),
        spec=spec or ServiceSpec(cluster_ip="10.9.9.9", ports=(ServicePort(port=80),)),
    )


def slice_of(name: str, *endpoints: Endpoint, namespace: str = "shop") -> EndpointSlice:
    return EndpointSlice(
        metadata=Metadata(name=f"{name}-abcde", namespace=namespace),
        address_type="IPv4",
        endpoints=endpoints,
        ports=(EndpointPort(port=8080),),
    )


def labelled(
    name: str,
    service: str = "",
    *ports: EndpointPort,
    namespace: str = "shop",
    family: str = "IPv4",
) -> EndpointSlice:
    """A slice of exactly that name, which says whose it is; of nobody, unless told."""
    labels = {SERVICE_NAME: service} if service else {}
    metadata = Metadata(namespace=namespace, name=name, labels=labels)
    return EndpointSlice(metadata=metadata, address_type=family, ports=ports)


def endpoint(ip: str, hostname: str | None = None, *, ready: bool | None = True) -> Endpoint:
    return Endpoint(addresses=(ip,), hostname=hostname, conditions=EndpointConditions(ready=ready))


def export(name: str = "web", namespace: str = "shop", **changes: object) -> Export:
    given: dict[str, object] = {
        "namespace": namespace,
        "name": name,
        "uid": f"uid-of-{name}",
        "version": "7",
        "ports": (Port(port=80, name="http", target_port=8080),),
        "ready": True,
        "labels": EXPORT_LABEL,
    }
    return Export(**(given | changes))  # type: ignore[arg-type]  # the tests' own shorthand


def headless(name: str, *hostnames: str, namespace: str = "shop", **changes: object) -> Export:
    pods = tuple(NamedPod(hostname=one) for one in sorted(hostnames))
    return export(name, namespace, headless=True, pods=pods, ready=bool(pods), **changes)


def link(cluster: str = "west", created: str = "2026-01-01T00:00:00Z", **spec: object) -> Link:
    given: dict[str, object] = {
        "gateway": Gateway(addresses=("203.0.113.9",)),
        "cluster_domain": f"{cluster}.cluster.local",
        "enable_headless_services": True,
    }
    return Link(
        metadata=Metadata(name=cluster, uid=f"link-{cluster}", creation_timestamp=created),
        spec=LinkSpec(**(given | spec)),  # type: ignore[arg-type]  # the tests' own shorthand
    )


def view(to: Link, *exports: Export, **known: object) -> LinkView:
    given: dict[str, object] = {
        "exports": links.passing(exports, to),
        "synced": True,
        "gateway_addresses": ("203.0.113.9",),
    }
    return LinkView(link=to, **(given | known))  # type: ignore[arg-type]  # as above


def namespace(name: str = "shop", *, terminating: bool = False) -> Namespace:
    ends = "2026-02-01T00:00:00Z" if terminating else None
    return Namespace(metadata=Metadata(name=name, deletion_timestamp=ends))


def pod(
    name: str = "curl",
    ip: str = "10.1.0.1",
    *,
    namespace: str = "shop",
    phase: str = "Running",
    **spec: object,
) -> Pod:
    """A pod of the service account ``curl``, unless told."""
    given: dict[str, object] = {"service_account_name": "curl"}
    return Pod(
        metadata=PodMetadata(name=name, namespace=namespace),
        spec=PodSpec(**(given | spec)),  # type: ignore[arg-type]  # the tests' own shorthand
        status=PodStatus(phase=phase, pod_ip=ip),
    )


def claimed(views: Iterable[LinkView]) -> dict[Key, tuple[Claim, ...]]:
    """The names that all links together claim."""
    claims: dict[Key, tuple[Claim, ...]] = {}
    for one in views:
        for key, added in links.claimed(one.exports, one.link).items():
            claims[key] = (*claims.get(key, ()), *added)
    return claims


def by_service(slices: Iterable[EndpointSlice]) -> dict[Key, tuple[EndpointSlice, ...]]:
    found: dict[Key, tuple[EndpointSlice, ...]] = {}
    for one in slices:
        owner = Key(one.metadata.namespace, one.metadata.labels[SERVICE_NAME])
        found[owner] = (*found.get(owner, ()), one)
    return found


def listeners(slices: Iterable[EndpointSlice]) -> dict[int, Key]:
    """Which mirror has which listener port: the first that says so."""
    found: dict[int, Key] = {}
    for owner, members in by_service(slices).items():
        for port in (port.port for one in members for port in one.ports):
            if port is not None:
                found.setdefault(port, owner)
    return found
