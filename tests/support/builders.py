"""Values with defaults for everything that a test is not about."""

from collections.abc import Iterable, Mapping

from isthmus.core import link as links
from isthmus.core.world import Address, Claim, LinkView, World
from isthmus.model.exports import Export, NamedPod, Port
from isthmus.model.links import Gateway, Link, LinkSpec
from isthmus.model.names import EXPORTED
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Namespace,
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


def world(
    *views: LinkView,
    services: Iterable[Service] = (),
    slices: Iterable[EndpointSlice] = (),
    namespaces: Iterable[str] = ("shop",),
    egress: Iterable[str] = ("10.0.0.7",),
) -> World:
    """A source cluster with ``views``; the claims follow from them, as the shell keeps them."""
    claims: dict[Key, tuple[Claim, ...]] = {}
    for one in views:
        for key, added in links.claimed(one.exports, one.link).items():
            claims[key] = (*claims.get(key, ()), *added)
    by_service: dict[Key, tuple[EndpointSlice, ...]] = {}
    listeners: dict[int, Key] = {}
    for each in slices:
        owner = Key(each.metadata.namespace, each.metadata.labels["kubernetes.io/service-name"])
        by_service[owner] = (*by_service.get(owner, ()), each)
        listeners |= {port.port: owner for port in each.ports if port.port}
    return World(
        links={one.link.uid: one for one in views},
        claims=claims,
        namespaces={name: Namespace(metadata=Metadata(name=name)) for name in namespaces},
        services={one.metadata.key: one for one in services},
        slices=by_service,
        egress=tuple(Address(ip) for ip in egress),
        listeners=listeners,
    )
