"""The columns that ``kubectl get`` shows for the kinds Kubernetes itself defines."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from isthmus.embedded.kinds.kind import Column
from isthmus.embedded.tables import podcells as pods
from isthmus.model.wire import JsonObject

NONE = "<none>"
_SHOWN = 3  # addresses and ports that fit into a cell


def at(path: str, otherwise: object = "") -> Callable[[JsonObject], object]:
    """A cell that shows one field; ``otherwise`` stands for a field that is empty."""
    fields = path.split(".")

    def cell(obj: JsonObject) -> object:
        found: object = obj
        for field in fields:
            found = found.get(field) if isinstance(found, dict) else None
        return found or otherwise

    return cell


def _counted(path: str) -> Callable[[JsonObject], object]:
    count = at(path, {})

    def cell(obj: JsonObject) -> object:
        found = count(obj)
        return len(found) if isinstance(found, dict | list) else 0

    return cell


def _first_few(texts: Sequence[str]) -> str:
    if not texts:
        return "<unset>"
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ",".join(texts[:_SHOWN]) + more


def _labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def _selector(selector: JsonObject | None) -> str:
    selector = selector or {}
    shown = [_labels(selector.get("matchLabels"))] if selector.get("matchLabels") else []
    for rule in selector.get("matchExpressions") or ():
        key, values = rule["key"], ",".join(rule.get("values") or ())
        match rule["operator"]:
            case "In" | "NotIn" as operator:
                shown.append(f"{key} {operator.lower()} ({values})")
            case "Exists":
                shown.append(key)
            case _:
                shown.append(f"!{key}")
    return ",".join(shown) or NONE


def _external_addresses(service: JsonObject) -> str:
    spec = service["spec"]
    extra = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "LoadBalancer":
            balancer = service.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
            found = [entry.get("ip") or entry.get("hostname", "") for entry in balancer]
            return ",".join([*found, *extra]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return ",".join(extra) or NONE


def _service_ports(service: JsonObject) -> str:
    shown = []
    for port in service["spec"].get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(shown) or NONE


def _cluster_ip(service: JsonObject) -> str:
    addresses = service["spec"].get("clusterIPs") or (NONE,)
    return str(addresses[0])


def _slice_ports(endpoints: JsonObject) -> str:
    ports = endpoints.get("ports") or ()
    return _first_few([str(port.get("port") or port.get("name") or "*") for port in ports])


def _slice_addresses(endpoints: JsonObject) -> str:
    found = endpoints.get("endpoints") or ()
    return _first_few([address for each in found for address in each.get("addresses") or ()])


def _endpoints(endpoints: JsonObject) -> str:
    shown = []
    for subset in endpoints.get("subsets") or ():
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            shown += addresses
        for port in ports or ():
            shown += [f"{address}:{port['port']}" for address in addresses]
    return _first_few(shown) if shown else NONE


def _template(path: str) -> Callable[[JsonObject], object]:
    def cell(workload: JsonObject) -> object:
        containers = workload["spec"].get("template", {}).get("spec", {}).get("containers") or ()
        return ",".join(container.get(path, "") for container in containers)

    return cell


def _ready_replicas(workload: JsonObject) -> str:
    ready = workload.get("status", {}).get("readyReplicas", 0)
    return f"{ready}/{workload['spec'].get('replicas', 0)}"


def _node_status(node: JsonObject) -> str:
    conditions = node.get("status", {}).get("conditions") or ()
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), None)
    shown = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if node.get("spec", {}).get("unschedulable"):
        shown.append("SchedulingDisabled")
    return ",".join(shown)


def _node_roles(node: JsonObject) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    return ",".join(sorted(filter(None, roles))) or NONE


def _node_address(kind: str) -> Callable[[JsonObject], object]:
    def cell(node: JsonObject) -> object:
        addresses = node.get("status", {}).get("addresses") or ()
        return next((a["address"] for a in addresses if a["type"] == kind), NONE)

    return cell


def _role(binding: JsonObject) -> str:
    return f"{binding['roleRef']['kind']}/{binding['roleRef']['name']}"


def _subjects(kind: str) -> Callable[[JsonObject], object]:
    def cell(binding: JsonObject) -> object:
        found: Iterable[JsonObject] = binding.get("subjects") or ()
        return ", ".join(
            "/".join(filter(None, (subject.get("namespace"), subject["name"])))
            for subject in found
            if subject["kind"] == kind
        )

    return cell


def _event_object(event: JsonObject) -> str:
    about = event.get("involvedObject") or {}
    return "/".join(filter(None, (about.get("kind", "").lower(), about.get("name"))))


def _event_source(event: JsonObject) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent")
    instance = source.get("host") or event.get("reportingInstance")
    return ", ".join(filter(None, (component, instance)))


def _event_first(event: JsonObject) -> object:
    return event.get("firstTimestamp") or event.get("eventTime")


def _event_last(event: JsonObject) -> object:
    series = (event.get("series") or {}).get("lastObservedTime")
    return series or event.get("lastTimestamp") or _event_first(event)


def _event_count(event: JsonObject) -> object:
    return (event.get("series") or {}).get("count") or event.get("count") or 1


def _event_message(event: JsonObject) -> str:
    return str(event.get("message") or "").strip()


def _column(title: str, cell: Callable[[JsonObject], object], kind: str = "string") -> Column:
    return Column(title=title, cell=cell, type=kind)


def _wide(title: str, cell: Callable[[JsonObject], object]) -> Column:
    return Column(title=title, cell=cell, wide=True)


# Two types of our own: an "age" is the time since the moment that the cell yields and is shown
# as a string, a "moment" is shown as it is under the API's type "date".
NAME = Column(title="Name", cell=at("metadata.name"))
AGE = _column("Age", at("metadata.creationTimestamp", None), "age")
CREATED_AT = _column("Created At", at("metadata.creationTimestamp"), "moment")
_CONTAINERS = (_wide("Containers", _template("name")), _wide("Images", _template("image")))
_SELECTOR = _wide("Selector", lambda obj: _selector(obj["spec"].get("selector")))
_BINDING = (
    NAME,
    _column("Role", _role),
    AGE,
    _wide("Users", _subjects("User")),
    _wide("Groups", _subjects("Group")),
    _wide("ServiceAccounts", _subjects("ServiceAccount")),
)
_EVENT = (
    _column("Last Seen", _event_last, "age"),
    _column("Type", at("type")),
    _column("Reason", at("reason")),
    _column("Object", _event_object),
    _wide("Subobject", at("involvedObject.fieldPath")),
    _wide("Source", _event_source),
    _column("Message", _event_message),
    Column(title="First Seen", cell=_event_first, wide=True, type="age"),
    _wide("Count", _event_count),
    Column(title="Name", cell=at("metadata.name"), wide=True),
)

COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "Namespace"): (NAME, _column("Status", at("status.phase")), AGE),
    ("", "Service"): (
        NAME,
        _column("Type", at("spec.type")),
        _column("Cluster-IP", _cluster_ip),
        _column("External-IP", _external_addresses),
        _column("Port(s)", _service_ports),
        AGE,
        _wide("Selector", lambda obj: _labels(obj["spec"].get("selector")) or NONE),
    ),
    ("", "Endpoints"): (NAME, _column("Endpoints", _endpoints), AGE),
    ("", "Pod"): (
        NAME,
        _column("Ready", pods.ready),
        _column("Status", pods.status),
        _column("Restarts", pods.restarts),
        AGE,
        _wide("IP", at("status.podIP", NONE)),
        _wide("Node", at("spec.nodeName", NONE)),
        _wide("Nominated Node", at("status.nominatedNodeName", NONE)),
        _wide("Readiness Gates", pods.readiness_gates),
    ),
    ("", "Node"): (
        NAME,
        _column("Status", _node_status),
        _column("Roles", _node_roles),
        AGE,
        _column("Version", at("status.nodeInfo.kubeletVersion")),
        _wide("Internal-IP", _node_address("InternalIP")),
        _wide("External-IP", _node_address("ExternalIP")),
        _wide("OS-Image", at("status.nodeInfo.osImage", "<unknown>")),
        _wide("Kernel-Version", at("status.nodeInfo.kernelVersion", "<unknown>")),
        _wide("Container-Runtime", at("status.nodeInfo.containerRuntimeVersion", "<unknown>")),
    ),
    ("", "Secret"): (NAME, _column("Type", at("type")), _column("Data", _counted("data")), AGE),
    ("", "ConfigMap"): (NAME, _column("Data", _counted("data")), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _column("AddressType", at("addressType")),
        _column("Ports", _slice_ports),
        _column("Endpoints", _slice_addresses),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (NAME, _column("Holder", at("spec.holderIdentity")), AGE),
    ("apps", "Deployment"): (
        NAME,
        _column("Ready", _ready_replicas),
        _column("Up-to-date", at("status.updatedReplicas", 0)),
        _column("Available", at("status.availableReplicas", 0)),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "StatefulSet"): (NAME, _column("Ready", _ready_replicas), AGE, *_CONTAINERS),
    ("apps", "ReplicaSet"): (
        NAME,
        _column("Desired", at("spec.replicas", 0), "integer"),
        _column("Current", at("status.replicas", 0), "integer"),
        _column("Ready", at("status.readyReplicas", 0), "integer"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "DaemonSet"): (
        NAME,
        _column("Desired", at("status.desiredNumberScheduled", 0), "integer"),
        _column("Current", at("status.currentNumberScheduled", 0), "integer"),
        _column("Ready", at("status.numberReady", 0), "integer"),
        _column("Up-to-date", at("status.updatedNumberScheduled", 0), "integer"),
        _column("Available", at("status.numberAvailable", 0), "integer"),
        _column(
            "Node Selector",
            lambda obj: _labels(obj["spec"]["template"]["spec"].get("nodeSelector")) or NONE,
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
        _column("Min Available", at("spec.minAvailable", "N/A")),
        _column("Max Unavailable", at("spec.maxUnavailable", "N/A")),
        _column("Allowed Disruptions", at("status.disruptionsAllowed", 0), "integer"),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        _column("Pod-Selector", lambda obj: _selector(obj["spec"].get("podSelector"))),
        AGE,
    ),
}
