"""What the columns of built-in kinds say about an object, one function for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence

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


def counted(path: str) -> Callable[[JsonObject], object]:
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


def pairs(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def selected(selector: JsonObject | None) -> str:
    selector = selector or {}
    shown = [pairs(selector.get("matchLabels"))] if selector.get("matchLabels") else []
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


def external_addresses(service: JsonObject) -> str:
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


def service_ports(service: JsonObject) -> str:
    shown = []
    for port in service["spec"].get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(shown) or NONE


def cluster_ip(service: JsonObject) -> str:
    addresses = service["spec"].get("clusterIPs") or (NONE,)
    return str(addresses[0])


def slice_ports(endpoints: JsonObject) -> str:
    ports = endpoints.get("ports") or ()
    return _first_few([str(port.get("port") or port.get("name") or "*") for port in ports])


def slice_addresses(endpoints: JsonObject) -> str:
    found = endpoints.get("endpoints") or ()
    return _first_few([address for each in found for address in each.get("addresses") or ()])


def endpoint_addresses(endpoints: JsonObject) -> str:
    shown = []
    for subset in endpoints.get("subsets") or ():
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            shown += addresses
        for port in ports or ():
            shown += [f"{address}:{port['port']}" for address in addresses]
    return _first_few(shown) if shown else NONE


def template(path: str) -> Callable[[JsonObject], object]:
    def cell(workload: JsonObject) -> object:
        containers = workload["spec"].get("template", {}).get("spec", {}).get("containers") or ()
        return ",".join(container.get(path, "") for container in containers)

    return cell


def ready_replicas(workload: JsonObject) -> str:
    ready = workload.get("status", {}).get("readyReplicas", 0)
    return f"{ready}/{workload['spec'].get('replicas', 0)}"


def node_status(node: JsonObject) -> str:
    conditions = node.get("status", {}).get("conditions") or ()
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), None)
    shown = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if node.get("spec", {}).get("unschedulable"):
        shown.append("SchedulingDisabled")
    return ",".join(shown)


def node_roles(node: JsonObject) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    return ",".join(sorted(filter(None, roles))) or NONE


def node_address(kind: str) -> Callable[[JsonObject], object]:
    def cell(node: JsonObject) -> object:
        addresses = node.get("status", {}).get("addresses") or ()
        return next((a["address"] for a in addresses if a["type"] == kind), NONE)

    return cell


def role(binding: JsonObject) -> str:
    return f"{binding['roleRef']['kind']}/{binding['roleRef']['name']}"


def subjects(kind: str) -> Callable[[JsonObject], object]:
    def cell(binding: JsonObject) -> object:
        found: Iterable[JsonObject] = binding.get("subjects") or ()
        return ", ".join(
            "/".join(filter(None, (subject.get("namespace"), subject["name"])))
            for subject in found
            if subject["kind"] == kind
        )

    return cell


def event_object(event: JsonObject) -> str:
    about = event.get("involvedObject") or {}
    return "/".join(filter(None, (about.get("kind", "").lower(), about.get("name"))))


def event_source(event: JsonObject) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent")
    instance = source.get("host") or event.get("reportingInstance")
    return ", ".join(filter(None, (component, instance)))


def event_first(event: JsonObject) -> object:
    return event.get("firstTimestamp") or event.get("eventTime")


def event_last(event: JsonObject) -> object:
    series = (event.get("series") or {}).get("lastObservedTime")
    return series or event.get("lastTimestamp") or event_first(event)


def event_count(event: JsonObject) -> object:
    return (event.get("series") or {}).get("count") or event.get("count") or 1


def event_message(event: JsonObject) -> str:
    return str(event.get("message") or "").strip()
