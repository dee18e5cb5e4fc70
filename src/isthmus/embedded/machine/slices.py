"""Which EndpointSlices a Service with a selector has, as Kubernetes' own controller writes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from msgspec.structs import replace

from isthmus.embedded.machine.objects import Pod, PodEndpoint, PodSlice
from isthmus.embedded.machine.ports import Ports
from isthmus.model.names import MANAGED_BY, SERVICE_NAME
from isthmus.model.objects import (
    EndpointConditions,
    EndpointPort,
    Metadata,
    ObjectReference,
    OwnerReference,
    Service,
    ServicePort,
)

CONTROLLER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
FULL = 100  # endpoints of one slice


@dataclass(frozen=True, slots=True)
class Changes:
    creates: tuple[PodSlice, ...] = ()
    replaces: tuple[PodSlice, ...] = ()
    deletes: tuple[PodSlice, ...] = ()


def changes(
    service: Service, pods: Iterable[Pod], present: Sequence[PodSlice], ports: Ports
) -> Changes:
    """What has to be written so that the slices ``present`` become those that should be."""
    creates: list[PodSlice] = []
    replaces: list[PodSlice] = []
    left = sorted(present, key=lambda one: one.metadata.name)
    for wanted in _wanted(service, pods, ports):
        # A slice that has the same ports already changes least for those who watch it.
        found = next((one for one in left if one.ports == wanted.ports), left[0] if left else None)
        if found is None:
            taken = {one.metadata.name for one in (*present, *creates)}
            named = replace(wanted.metadata, name=_free_name(service, taken))
            creates.append(replace(wanted, metadata=named))
            continue
        left.remove(found)
        metadata = replace(
            found.metadata,
            labels=wanted.metadata.labels,
            owner_references=wanted.metadata.owner_references,
        )
        after = replace(wanted, metadata=metadata)
        if after != found:
            replaces.append(after)
    return Changes(tuple(creates), tuple(replaces), tuple(left))


def _wanted(service: Service, pods: Iterable[Pod], ports: Ports) -> list[PodSlice]:
    """The slices, still without names: those whose ports differ are apart, none is over-full."""
    groups: dict[tuple[EndpointPort, ...], list[PodEndpoint]] = {}
    for pod in sorted(pods, key=lambda one: one.metadata.key):
        if pod.status.pod_ip and not pod.has_ended:
            resolved = tuple(_resolved(service, pod, ports))
            groups.setdefault(resolved, []).append(_endpoint(service, pod))
    # A Service without pods has a slice, too: it says that they are known to be none.
    metadata = _metadata(service)
    return [
        PodSlice(
            metadata=metadata,
            address_type="IPv4",
            endpoints=tuple(endpoints[first : first + FULL]),
            ports=resolved,
        )
        for resolved, endpoints in (groups or {(): []}).items()
        for first in range(0, len(endpoints) or 1, FULL)
    ]


def _resolved(service: Service, pod: Pod, ports: Ports) -> Iterable[EndpointPort]:
    for port in service.spec.ports:
        number = _target(port, pod)
        if number is not None:
            yield EndpointPort(
                name=port.name,
                protocol=port.protocol,
                port=ports.at(number),
                app_protocol=port.app_protocol,
            )


def _target(port: ServicePort, pod: Pod) -> int | None:
    """The pod's port that a Service's port means; None if the pod has none of that name."""
    match port.target_port:
        case str(name):
            for container in pod.spec.containers:
                for one in container.ports:
                    if (one.name, one.protocol) == (name, port.protocol):
                        return one.container_port
            return None
        case number:
            return number or port.port


def _endpoint(service: Service, pod: Pod) -> PodEndpoint:
    named = bool(pod.spec.hostname) and pod.spec.subdomain == service.metadata.name
    alive = not pod.is_terminating
    return PodEndpoint(
        addresses=(pod.status.pod_ip,),
        conditions=EndpointConditions(
            ready=(pod.is_ready and alive) or service.spec.publish_not_ready_addresses,
            serving=pod.is_ready,
            terminating=not alive,
        ),
        hostname=pod.spec.hostname if named else None,
        node_name=pod.spec.node_name or None,
        target_ref=ObjectReference(
            kind="Pod",
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
        ),
    )


def _metadata(service: Service) -> Metadata:
    labels = {
        key: value
        for key, value in service.metadata.labels.items()
        if key not in (SERVICE_NAME, MANAGED_BY, HEADLESS)
    }
    if service.spec.cluster_ip == "None":
        labels[HEADLESS] = ""
    owner = OwnerReference(
        api_version="v1",
        kind="Service",
        name=service.metadata.name,
        uid=service.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    return Metadata(
        name="",
        namespace=service.metadata.namespace,
        labels={**labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER},
        owner_references=(owner,),
    )


def _free_name(service: Service, taken: set[str]) -> str:
    """The first name that is free; Kubernetes takes any, but what is repeatable is testable."""
    number = 0
    while True:
        seed = f"{service.metadata.uid}/{number}"
        name = f"{service.metadata.name}-{sha256(seed.encode()).hexdigest()[:5]}"
        if name not in taken:
            return name
        number += 1
