"""Everything about an installation that can be chosen: the keys, their types, defaults and meaning.

The reference, the chart's ``values.yaml`` and its schema are made from what stands here, so that a
key is described once.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import ip_network
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from isthmus import __version__
from isthmus.install import documents
from isthmus.install.documents import BadValue
from isthmus.model.identities import MESH_DOMAIN, NotAnIdentity, trust_domain
from isthmus.model.links import Gateway as Target
from isthmus.model.syntax import is_dns_label, is_subdomain

NAMESPACE = "isthmus"
TOKEN_SECONDS = 3600  # a projected token's life; the kubelet replaces it long before its end
AVAILABLE = 2  # replicas of each workload that --ha asks for

# Beyond these there are only slips of the finger, which API servers or nodes would choke on.
Count = Annotated[int, Meta(ge=1, le=1000)]
Port = Annotated[int, Meta(ge=1, le=65535)]
User = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Quantities = Mapping[str, str | int]
Texts = tuple[str, ...]


class Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Keys that belong together."""


class Image(Group, frozen=True, kw_only=True):
    repository: Annotated[
        str, Meta(min_length=1, description="Where the image is; one is for all workloads.")
    ] = "isthmus.dev/isthmus"
    tag: Annotated[str, Meta(description="Of the image.")] = __version__
    digest: Annotated[str, Meta(description="sha256:… of the image; it counts, not the tag.")] = ""
    pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"], Meta(description="When nodes pull the image.")
    ] = "IfNotPresent"
    pull_secrets: Annotated[
        Texts, Meta(description="Names of Secrets of the namespace, for private registries.")
    ] = ()

    @property
    def reference(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{f'@{self.digest}' if self.digest else ''}"


def _quantities(**found: str) -> "Quantities":
    return dict(found)


class Resources(Group, frozen=True, kw_only=True):
    requests: Annotated[Quantities, Meta(description="What a pod is sure to get: cpu, memory.")] = (
        field(default_factory=partial(_quantities, cpu="100m", memory="128Mi"))
    )
    # No limit of CPU: it would hold calls up although the machine has nothing else to do.
    limits: Annotated[
        Quantities,
        Meta(description="What a pod can get at most; a bound of cpu holds calls up."),
    ] = field(default_factory=partial(_quantities, memory="1Gi"))


class Toleration(Group, frozen=True, kw_only=True, omit_defaults=True):
    key: str = ""
    operator: Literal["", "Equal", "Exists"] = ""
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class Workload(Group, frozen=True, kw_only=True):
    replicas: Annotated[
        Count | None, Meta(description=f"How many pods; null: 1, or {AVAILABLE} with ha.")
    ] = None
    resources: Resources = Resources()
    node_selector: Annotated[
        Mapping[str, str], Meta(description="Labels that a node must have.")
    ] = {}
    tolerations: Annotated[
        tuple[Toleration, ...], Meta(description="Taints of nodes that are no obstacle.")
    ] = ()
    priority_class_name: Annotated[str, Meta(description="Who goes first when a node is full.")] = (
        ""
    )
    pod_annotations: Annotated[Mapping[str, str], Meta(description="Annotations of the pods.")] = {}


class Controller(Workload, frozen=True, kw_only=True):
    workers: Annotated[Count, Meta(description="Mirrors written at once.")] = 16


class Proxy(Workload, frozen=True, kw_only=True):
    concurrency: Annotated[Count, Meta(description="Threads that carry calls.")] = 2
    drain: Annotated[
        int, Meta(ge=0, le=86400, description="Seconds for callers to leave a pod that ends.")
    ] = 30
    linger: Annotated[
        int,
        Meta(
            ge=0,
            le=86400,
            description="Of these: for those to come who have not heard that it ends.",
        ),
    ] = 15


class GatewayService(Group, frozen=True, kw_only=True):
    type: Annotated[
        Literal["LoadBalancer", "NodePort", "ClusterIP"],
        Meta(description="How other clusters reach the gateway."),
    ] = "LoadBalancer"
    port: Annotated[Port, Meta(description="At which they reach it; Links name it.")] = (
        Target().port
    )
    node_port: Annotated[
        Port | None, Meta(description="At each node; null: Kubernetes chooses.")
    ] = None
    annotations: Annotated[
        Mapping[str, str], Meta(description="For the cloud that makes the load balancer.")
    ] = {}
    load_balancer_class: Annotated[
        str, Meta(description="Which load balancer, where there are several.")
    ] = ""
    load_balancer_source_ranges: Annotated[
        Texts, Meta(description="CIDRs that are let in; none: everybody, who needs a certificate.")
    ] = ()
    external_traffic_policy: Annotated[
        Literal["Cluster", "Local"], Meta(description="Local spares a hop, and nodes without pods.")
    ] = "Cluster"


class Gateway(Proxy, frozen=True, kw_only=True):
    service: GatewayService = GatewayService()


class Egress(Proxy, frozen=True, kw_only=True):
    pass


class NetworkPolicy(Group, frozen=True, kw_only=True):
    enabled: Annotated[bool, Meta(description="Let in only whoever has a reason to call.")] = True
    metrics_namespaces: Annotated[
        Texts,
        Meta(
            description="Namespaces that may read metrics; none: whoever reaches the pods. With "
            "some, a network may keep out the API server, by which `isthmus check` and others read."
        ),
    ] = ()


class AdmissionPolicy(Group, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, Meta(description="Have the API server hold the controller to objects of its own.")
    ] = True


class Issuer(Group, frozen=True, kw_only=True):
    certificate: Annotated[str, Meta(description="PEM, as `isthmus trust issue` makes it.")] = ""
    key: Annotated[str, Meta(description="PEM. It belongs into no repository.")] = ""

    def __repr__(self) -> str:
        return "Issuer(…)"  # it holds a private key


class Trust(Group, frozen=True, kw_only=True):
    anchors: Annotated[
        str, Meta(description="PEM of the trust anchors; empty: the ConfigMap is yours to make.")
    ] = ""
    issuer: Issuer = Issuer()


class Values(Group, frozen=True, kw_only=True):
    """What an installation is made of."""

    cluster_name: Annotated[
        str, Meta(description="What other clusters call this one: a DNS label. Required.")
    ] = ""
    namespace: Annotated[
        str, Meta(description="Where everything runs; it is for Isthmus alone.")
    ] = NAMESPACE
    create_namespace: Annotated[
        bool, Meta(description="Make the namespace, and hold its pods to the restricted profile.")
    ] = True
    mesh_domain: Annotated[
        str, Meta(description="The same in all clusters; the trust anchor is bound to it.")
    ] = MESH_DOMAIN
    cluster_domain: Annotated[str, Meta(description="What names of Services end in.")] = (
        "cluster.local"
    )
    local_cidrs: Annotated[
        Texts, Meta(description="Ranges of this cluster's pods and nodes: no gateway is there.")
    ] = ()
    allow_loopback: Annotated[
        bool, Meta(description="Let targets be on this machine: for trying things out.")
    ] = False
    ha: Annotated[
        bool,
        Meta(
            description=f"{AVAILABLE} pods of all whose replicas are null; never all of them gone."
        ),
    ] = False
    remove_namespaces: Annotated[
        bool,
        Meta(
            description="Remove namespaces that a Link has made when it ends and they are empty; "
            "to see that, the controller must list everything, Secrets included."
        ),
    ] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="What is worth a line.")
    ] = "info"
    log_format: Annotated[
        Literal["json", "text"], Meta(description="For machines, or for people.")
    ] = "json"
    run_as_user: Annotated[
        User | None,
        Meta(description="User and group of all pods; null: left to the platform (OpenShift)."),
    ] = 65532
    image: Image = Image()
    controller: Controller = Controller()
    gateway: Gateway = Gateway()
    egress: Egress = Egress()
    network_policy: NetworkPolicy = NetworkPolicy()
    admission_policy: AdmissionPolicy = AdmissionPolicy()
    trust: Trust = Trust()

    def replicas(self, workload: Workload) -> int:
        return workload.replicas or (AVAILABLE if self.ha else 1)


def parse(sets: Iterable[str] = (), files: Mapping[str, str] | None = None) -> Values:
    """Return the values of YAML ``files`` (text by name), in their order, and of ``key=value``
    words on top of them; raise :class:`BadValue`, naming the key."""
    values = draft(sets, files or {})
    _check(values)
    return values


def draft(sets: Iterable[str], files: Mapping[str, str]) -> Values:
    """The same, of which more is still to be said: each value is right, if not all of them
    together."""
    values: Values = documents.converted(documents.merged(Values, sets, files), Values)
    if not is_dns_label(values.namespace):
        raise BadValue(f"namespace: {values.namespace!r:.80} is not a DNS label")
    return values


def _check(values: Values) -> None:
    """Refuse what has the right type and can still not be."""
    if not values.cluster_name:
        raise BadValue(
            "clusterName is missing: what other clusters call this one, as --cluster-name west"
        )
    try:
        trust_domain(values.cluster_name, values.mesh_domain)
    except NotAnIdentity as error:
        raise BadValue(f"clusterName or meshDomain: {error}") from error
    if not is_subdomain(values.cluster_domain):
        raise BadValue(f"clusterDomain: {values.cluster_domain!r:.80} is not a DNS name")
    service = values.gateway.service
    for key, ranges in (
        ("localCidrs", values.local_cidrs),
        ("gateway.service.loadBalancerSourceRanges", service.load_balancer_source_ranges),
    ):
        for one in ranges:
            try:
                ip_network(one)
            except ValueError:
                raise BadValue(f"{key}: {one!r:.80} is not a range such as 10.0.0.0/8") from None
    if service.node_port is not None and service.type == "ClusterIP":
        raise BadValue("gateway.service.nodePort: a Service of type ClusterIP has none")
    issuer = values.trust.issuer
    if bool(issuer.certificate) != bool(issuer.key):
        raise BadValue("trust.issuer: certificate and key belong together, and one is missing")
