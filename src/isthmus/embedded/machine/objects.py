"""Pods and what makes them, reduced to what the machine reads."""

from msgspec import field

from isthmus.kube.resources import ENDPOINT_SLICES, Resource, untyped
from isthmus.model.objects import (
    Condition,
    Endpoint,
    EndpointSlice,
    Metadata,
    ObjectReference,
    Value,
)
from isthmus.model.wire import JsonObject, Nullable


class ContainerPort(Value, frozen=True, kw_only=True):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class Variable(Value, frozen=True, kw_only=True):
    name: str
    value: str = ""


class Sleep(Value, frozen=True, kw_only=True):
    seconds: int = 0


class Hook(Value, frozen=True, kw_only=True):
    sleep: Sleep = Sleep()


class Lifecycle(Value, frozen=True, kw_only=True):
    pre_stop: Hook = Hook()


class Container(Value, frozen=True, kw_only=True):
    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    lifecycle: Lifecycle = Lifecycle()


class PodSpec(Value, frozen=True, kw_only=True):
    containers: tuple[Container, ...] = ()
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    service_account_name: str = ""


class PodStatus(Value, frozen=True, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()


class Pod(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def hostname(self) -> str:
        """The name that the pod itself sees."""
        return self.spec.hostname or self.metadata.name

    @property
    def is_ready(self) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def maker(self) -> ObjectReference | None:
        """The workload that has made it and would make it again."""
        for owner in self.metadata.owner_references:
            if owner.controller:
                return ObjectReference(kind=owner.kind, name=owner.name, uid=owner.uid)
        return None


class WorkloadSpec(Value, frozen=True, kw_only=True):
    template: JsonObject
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"


class Workload(Value, frozen=True, kw_only=True):
    """A StatefulSet or a Deployment; its pods' template is passed on unread."""

    metadata: Metadata
    spec: WorkloadSpec
    status: JsonObject = field(default_factory=dict)


class PodEndpoint(Endpoint, frozen=True, kw_only=True):
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class PodSlice(EndpointSlice, frozen=True, kw_only=True):
    """An EndpointSlice with all that Kubernetes' own controller writes into it."""

    endpoints: Nullable[PodEndpoint] = ()


PODS = Resource(type=Pod, kind="Pod", plural="pods")
PLAIN_PODS = untyped("v1", "Pod", "pods", namespaced=True)
STATEFUL_SETS = Resource(type=Workload, kind="StatefulSet", plural="statefulsets", group="apps")
DEPLOYMENTS = Resource(type=Workload, kind="Deployment", plural="deployments", group="apps")
POD_SLICES = Resource(
    type=PodSlice,
    kind=ENDPOINT_SLICES.kind,
    plural=ENDPOINT_SLICES.plural,
    group=ENDPOINT_SLICES.group,
)
