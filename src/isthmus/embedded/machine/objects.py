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


class FieldReference(Value, frozen=True, kw_only=True):
    field_path: str


class VariableSource(Value, frozen=True, kw_only=True):
    field_ref: FieldReference | None = None


class Variable(Value, frozen=True, kw_only=True):
    name: str
    value: str = ""
    value_from: VariableSource = VariableSource()


class HttpGet(Value, frozen=True, kw_only=True):
    port: int | str
    path: str = "/"
    scheme: str = "HTTP"


class TcpSocket(Value, frozen=True, kw_only=True):
    port: int | str


class Probe(Value, frozen=True, kw_only=True):
    """How a container is asked; what asks by other means than these is taken to pass."""

    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3


class Mount(Value, frozen=True, kw_only=True):
    name: str
    mount_path: str
    sub_path: str = ""


class Item(Value, frozen=True, kw_only=True):
    """A file of a volume, and what it is made from."""

    path: str
    key: str = ""
    field_ref: FieldReference | None = None


class Keys(Value, frozen=True, kw_only=True):
    """A ConfigMap or a Secret as files: all of its keys, unless ``items`` chooses."""

    name: str = ""
    items: tuple[Item, ...] = ()
    optional: bool = False


class SecretKeys(Keys, frozen=True, kw_only=True):
    """The same, where Kubernetes has another word for the name."""

    name: str = field(default="", name="secretName")


class Fields(Value, frozen=True, kw_only=True):
    items: tuple[Item, ...] = ()


class Token(Value, frozen=True, kw_only=True):
    """A token of the pod's service account, for an audience; none: the API."""

    path: str
    audience: str = ""
    expiration_seconds: int = 3600


class Projection(Value, frozen=True, kw_only=True):
    config_map: Keys | None = None
    secret: Keys | None = None
    downward_api: Fields | None = field(default=None, name="downwardAPI")
    service_account_token: Token | None = None


class Projected(Value, frozen=True, kw_only=True):
    sources: tuple[Projection, ...] = ()


class Volume(Value, frozen=True, kw_only=True):
    """A folder of files; of every kind that is not listed here, an empty one."""

    name: str
    config_map: Keys | None = None
    secret: SecretKeys | None = None
    downward_api: Fields | None = field(default=None, name="downwardAPI")
    projected: Projected = Projected()

    @property
    def sources(self) -> tuple[Projection, ...]:
        """What its files are made from, whatever the kind of the volume."""
        own = Projection(
            config_map=self.config_map, secret=self.secret, downward_api=self.downward_api
        )
        return (own, *self.projected.sources)


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
    volume_mounts: tuple[Mount, ...] = ()
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()


class PodMetadata(Metadata, frozen=True, kw_only=True):
    deletion_grace_period_seconds: int | None = None


class PodSpec(Value, frozen=True, kw_only=True):
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    service_account_name: str = ""
    termination_grace_period_seconds: int = 30


class PodStatus(Value, frozen=True, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()


class Pod(Value, frozen=True, kw_only=True):
    metadata: PodMetadata
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
    def grace(self) -> int:
        """Seconds that it has to end, once it is deleted."""
        told = self.metadata.deletion_grace_period_seconds
        return self.spec.termination_grace_period_seconds if told is None else told

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
