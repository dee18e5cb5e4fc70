"""The Kubernetes objects we use, reduced to the fields we use.

Each class decodes straight from the API's JSON, skips fields it does not name, and encodes to
JSON the API accepts. ``apiVersion`` and ``kind`` are missing on purpose: items of a list do not
carry them, and the resource that an object is read from or written to knows them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import field

from isthmus.model.names import SERVICE_NAME
from isthmus.model.wire import Nullable


class Key(NamedTuple):
    """The name of an object among those of its kind; cluster-scoped ones have no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Value(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False
):
    """What all structures here have in common, so that it is said once.

    They are trees and immutable, hence never part of a cycle: the collector may skip them.
    """


class OwnerReference(Value, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(Value, frozen=True, kw_only=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class Condition(Value, frozen=True, kw_only=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class ObjectReference(Value, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class ServicePort(Value, frozen=True, kw_only=True):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None
    app_protocol: str | None = None
    node_port: int = 0


class ServiceSpec(Value, frozen=True, kw_only=True):
    type: str = "ClusterIP"
    cluster_ip: str = field(default="", name="clusterIP")
    cluster_ips: tuple[str, ...] = field(default=(), name="clusterIPs")
    external_name: str = ""
    external_ips: tuple[str, ...] = field(default=(), name="externalIPs")
    load_balancer_ip: str = field(default="", name="loadBalancerIP")
    selector: Mapping[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    publish_not_ready_addresses: bool = False
    session_affinity: str = "None"
    internal_traffic_policy: str = "Cluster"
    traffic_distribution: str | None = None


class Ingress(Value, frozen=True, kw_only=True):
    """One address at which a load balancer answers."""

    ip: str = ""
    hostname: str = ""


class LoadBalancer(Value, frozen=True, kw_only=True):
    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(Value, frozen=True, kw_only=True):
    load_balancer: LoadBalancer = LoadBalancer()


class Service(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointConditions(Value, frozen=True, kw_only=True):
    """None means unknown, which consumers read as ready."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(Value, frozen=True, kw_only=True):
    """For reading, or writing slices of our own: where the pod runs is not among its fields.

    A cluster has more endpoints than anything else, and what nobody reads would be a third of
    the memory that they take.
    """

    addresses: tuple[str, ...]
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None


class EndpointPort(Value, frozen=True, kw_only=True):
    name: str = ""
    protocol: str = "TCP"
    port: int | None = None
    app_protocol: str | None = None


class EndpointSlice(Value, frozen=True, kw_only=True):
    metadata: Metadata
    address_type: str
    endpoints: Nullable[Endpoint] = ()
    ports: Nullable[EndpointPort] = ()

    def __post_init__(self) -> None:
        # The API writes null for an empty list here. Were it not the same value as the empty
        # list we write, a slice without endpoints would differ from itself for ever.
        if self.endpoints is None:
            msgspec.structs.force_setattr(self, "endpoints", ())
        if self.ports is None:
            msgspec.structs.force_setattr(self, "ports", ())


def service_of(one: EndpointSlice) -> tuple[Key, ...]:
    """Return the Service that a slice belongs to, if it belongs to any."""
    name = one.metadata.labels.get(SERVICE_NAME)
    return (Key(one.metadata.namespace, name),) if name else ()


class NamespaceStatus(Value, frozen=True, kw_only=True):
    phase: str = ""


class Namespace(Value, frozen=True, kw_only=True):
    metadata: Metadata
    status: NamespaceStatus = NamespaceStatus()


class Secret(Value, frozen=True, kw_only=True):
    metadata: Metadata
    type: str = "Opaque"
    data: Mapping[str, bytes] = {}
    immutable: bool | None = None

    def __repr__(self) -> str:
        return f"Secret({self.metadata.key}, type={self.type!r}, keys={sorted(self.data)})"


class ConfigMap(Value, frozen=True, kw_only=True):
    metadata: Metadata
    data: Mapping[str, str] = {}
    binary_data: Mapping[str, bytes] = {}


class ServiceAccount(Value, frozen=True, kw_only=True):
    metadata: Metadata
    automount_service_account_token: bool | None = None


class PodMetadata(Value, frozen=True, kw_only=True):
    """A cluster has many pods, and their labels and annotations are most of what they are."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class PodSpec(Value, frozen=True, kw_only=True):
    service_account_name: str = ""
    host_network: bool = False


class PodIP(Value, frozen=True, kw_only=True):
    ip: str = ""


class PodStatus(Value, frozen=True, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    pod_ips: tuple[PodIP, ...] = field(default=(), name="podIPs")


class Pod(Value, frozen=True, kw_only=True):
    """For reading: who runs at which address."""

    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class LeaseSpec(Value, frozen=True, kw_only=True):
    """Times are RFC 3339 with exactly six decimals; see :mod:`isthmus.model.times`."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: LeaseSpec = LeaseSpec()


class Event(Value, frozen=True, kw_only=True):
    """A note about an object, of ``events.k8s.io/v1``."""

    metadata: Metadata
    event_time: str | None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    note: str = ""
    type: str = ""
    regarding: ObjectReference = ObjectReference()
