"""The columns that ``kubectl get`` shows for the kinds Kubernetes itself defines."""

from collections.abc import Callable, Mapping

from isthmus.embedded.kinds.kind import Column
from isthmus.embedded.tables import cells
from isthmus.embedded.tables import podcells as pods
from isthmus.model.wire import JsonObject


def _column(title: str, cell: Callable[[JsonObject], object], kind: str = "string") -> Column:
    return Column(title=title, cell=cell, type=kind)


def _wide(title: str, cell: Callable[[JsonObject], object]) -> Column:
    return Column(title=title, cell=cell, wide=True)


# Two types of our own: an "age" is the time since the moment that the cell yields and is shown
# as a string, a "moment" is shown as it is under the API's type "date".
NAME = Column(title="Name", cell=cells.at("metadata.name"))
AGE = _column("Age", cells.at("metadata.creationTimestamp", None), "age")
CREATED_AT = _column("Created At", cells.at("metadata.creationTimestamp"), "moment")
_CONTAINERS = (
    _wide("Containers", cells.template("name")),
    _wide("Images", cells.template("image")),
)
_SELECTOR = _wide("Selector", lambda obj: cells.selected(obj["spec"].get("selector")))
_BINDING = (
    NAME,
    _column("Role", cells.role),
    AGE,
    _wide("Users", cells.subjects("User")),
    _wide("Groups", cells.subjects("Group")),
    _wide("ServiceAccounts", cells.subjects("ServiceAccount")),
)
_EVENT = (
    _column("Last Seen", cells.event_last, "age"),
    _column("Type", cells.at("type")),
    _column("Reason", cells.at("reason")),
    _column("Object", cells.event_object),
    _wide("Subobject", cells.at("involvedObject.fieldPath")),
    _wide("Source", cells.event_source),
    _column("Message", cells.event_message),
    Column(title="First Seen", cell=cells.event_first, wide=True, type="age"),
    _wide("Count", cells.event_count),
    _wide("Name", cells.at("metadata.name")),
)

COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "Namespace"): (NAME, _column("Status", cells.at("status.phase")), AGE),
    ("", "Service"): (
        NAME,
        _column("Type", cells.at("spec.type")),
        _column("Cluster-IP", cells.cluster_ip),
        _column("External-IP", cells.external_addresses),
        _column("Port(s)", cells.service_ports),
        AGE,
        _wide("Selector", lambda obj: cells.pairs(obj["spec"].get("selector")) or cells.NONE),
    ),
    ("", "Endpoints"): (NAME, _column("Endpoints", cells.endpoint_addresses), AGE),
    ("", "Pod"): (
        NAME,
        _column("Ready", pods.ready),
        _column("Status", pods.status),
        _column("Restarts", pods.restarts),
        AGE,
        _wide("IP", cells.at("status.podIP", cells.NONE)),
        _wide("Node", cells.at("spec.nodeName", cells.NONE)),
        _wide("Nominated Node", cells.at("status.nominatedNodeName", cells.NONE)),
        _wide("Readiness Gates", pods.readiness_gates),
    ),
    ("", "Node"): (
        NAME,
        _column("Status", cells.node_status),
        _column("Roles", cells.node_roles),
        AGE,
        _column("Version", cells.at("status.nodeInfo.kubeletVersion")),
        _wide("Internal-IP", cells.node_address("InternalIP")),
        _wide("External-IP", cells.node_address("ExternalIP")),
        _wide("OS-Image", cells.at("status.nodeInfo.osImage", "<unknown>")),
        _wide("Kernel-Version", cells.at("status.nodeInfo.kernelVersion", "<unknown>")),
        _wide(
            "Container-Runtime", cells.at("status.nodeInfo.containerRuntimeVersion", "<unknown>")
        ),
    ),
    ("", "Secret"): (
        NAME,
        _column("Type", cells.at("type")),
        _column("Data", cells.counted("data")),
        AGE,
    ),
    ("", "ConfigMap"): (NAME, _column("Data", cells.counted("data")), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _column("AddressType", cells.at("addressType")),
        _column("Ports", cells.slice_ports),
        _column("Endpoints", cells.slice_addresses),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (
        NAME,
        _column("Holder", cells.at("spec.holderIdentity")),
        AGE,
    ),
    ("apps", "Deployment"): (
        NAME,
        _column("Ready", cells.ready_replicas),
        _column("Up-to-date", cells.at("status.updatedReplicas", 0)),
        _column("Available", cells.at("status.availableReplicas", 0)),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "StatefulSet"): (NAME, _column("Ready", cells.ready_replicas), AGE, *_CONTAINERS),
    ("apps", "ReplicaSet"): (
        NAME,
        _column("Desired", cells.at("spec.replicas", 0), "integer"),
        _column("Current", cells.at("status.replicas", 0), "integer"),
        _column("Ready", cells.at("status.readyReplicas", 0), "integer"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "DaemonSet"): (
        NAME,
        _column("Desired", cells.at("status.desiredNumberScheduled", 0), "integer"),
        _column("Current", cells.at("status.currentNumberScheduled", 0), "integer"),
        _column("Ready", cells.at("status.numberReady", 0), "integer"),
        _column("Up-to-date", cells.at("status.updatedNumberScheduled", 0), "integer"),
        _column("Available", cells.at("status.numberAvailable", 0), "integer"),
        _column(
            "Node Selector",
            lambda obj: (
                cells.pairs(obj["spec"]["template"]["spec"].get("nodeSelector")) or cells.NONE
            ),
        ),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    ("rbac.authorization.k8s.io", "Role"): (NAME, CREATED_AT),
    ("rbac.authorization.k8s.io", "ClusterRole"): (NAME, CREATED_AT),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (NAME, CREATED_AT),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        _column("Min Available", cells.at("spec.minAvailable", "N/A")),
        _column("Max Unavailable", cells.at("spec.maxUnavailable", "N/A")),
        _column("Allowed Disruptions", cells.at("status.disruptionsAllowed", 0), "integer"),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        _column("Pod-Selector", lambda obj: cells.selected(obj["spec"].get("podSelector"))),
        AGE,
    ),
}
