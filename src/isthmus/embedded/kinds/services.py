"""Services: their defaults, what follows from their type, and what users get wrong in them."""

from collections.abc import Iterator

from isthmus.embedded.kinds import clusterips, formats
from isthmus.embedded.kinds.causes import duplicate, each, forbidden, invalid, required, unsupported
from isthmus.embedded.kinds.metadata import labelled
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_BALANCED = "may only be used when `type` is 'LoadBalancer'"


def fill(obj: JsonObject) -> None:
    spec = obj["spec"]
    kind = spec.setdefault("type", "ClusterIP")
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    if affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    if _reachable(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for entry in (obj["status"]["loadBalancer"]).get("ingress") or []:
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")


def prepare(new: JsonObject, old: JsonObject | None) -> None:
    """Complete what depends on the cluster and on the earlier state."""
    before = old["spec"] if old is not None else {}
    if old is not None:
        _drop_unneeded(new, before)
    clusterips.prepare(new["spec"], before)


def _drop_unneeded(new: JsonObject, before: JsonObject) -> None:
    """A change of type takes away what the server had set for the old one, if it is unchanged."""
    spec = new["spec"]

    def drop(*names: str) -> None:
        for name in names:
            if spec.get(name) == before.get(name):
                spec.pop(name, None)

    if spec["type"] == "ExternalName" != before["type"]:
        if spec.get("clusterIPs") in (None, before.get("clusterIPs")):
            drop("clusterIP", "clusterIPs")
        drop("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
    if before["type"] == "LoadBalancer" != spec["type"]:
        drop("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")
        new["status"]["loadBalancer"] = {}
    if _reachable(before) and not _reachable(spec):
        drop("externalTrafficPolicy")


def judge(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    # Families are settled when addresses are given out: before an update is judged, and after
    # a new Service has been.
    spec = new["spec"]
    if old is None:
        return _judged(new, None) or clusterips.unserved(spec, {})
    wrong = list(clusterips.judge(spec)) or clusterips.unserved(spec, old["spec"])
    return wrong or _judged(new, old)


def _judged(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    spec = new["spec"]
    before = old["spec"] if old is not None else None
    found: list[Cause] = []
    if before is not None:
        found += clusterips.unmoved(spec, before)
        found += _kept(spec, before)
    found += _typed(spec)
    found += _ports(spec.get("ports") or [])
    found += labelled("spec.selector", spec.get("selector") or {})
    found += _affinity(spec)
    found += clusterips.judge(spec)
    found += _externals(spec)
    if spec["type"] not in TYPES:
        found.append(unsupported("spec.type", spec["type"], TYPES))
    found += _numbers(spec)
    found += _balancing(spec)
    found += _traffic(spec)
    if spec["type"] != "LoadBalancer" and new["status"]["loadBalancer"].get("ingress"):
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        found.append(forbidden("status.loadBalancer.ingress", text))
    return found


def _reachable(spec: JsonObject) -> bool:
    """Whether the Service can be reached from outside the cluster."""
    outside = spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    return outside or spec["type"] in ("LoadBalancer", "NodePort")


def _kept(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    if spec["type"] == before["type"] == "LoadBalancer":
        named = spec.get("loadBalancerClass")
        if named != before.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", named, clusterips.FIXED)


def _typed(spec: JsonObject) -> Iterator[Cause]:
    headless = (spec.get("clusterIPs") or [])[:1] == ["None"]
    kind = spec["type"]
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and headless:
        text = f"may not be set to 'None' for {kind} services"
        yield invalid("spec.clusterIPs[0]", "None", text)
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
        target = spec.get("externalName", "").removesuffix(".")
        if target:
            yield from each("spec.externalName", target, formats.subdomain(target))
        else:
            yield required("spec.externalName")


def _ports(ports: list[JsonObject]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            yield from each(f"{path}.name", name, formats.label(name))
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield required(f"{path}.name")
        yield from each(f"{path}.port", port["port"], formats.port_number(port["port"]))
        if port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        yield from number_or_name(f"{path}.targetPort", port["targetPort"])
        if "appProtocol" in port:
            spelled = port["appProtocol"]
            yield from each(f"{path}.appProtocol", spelled, formats.qualified(spelled))


def number_or_name(path: str, port: Json) -> list[Cause]:
    """What is wrong with a port of a container, given by number or by name."""
    rule = formats.port_name(port) if isinstance(port, str) else formats.port_number(port)
    return each(path, port, rule)


def _affinity(spec: JsonObject) -> Iterator[Cause]:
    kinds = ("ClientIP", "None")
    if spec["sessionAffinity"] not in kinds:
        yield unsupported("spec.sessionAffinity", spec["sessionAffinity"], kinds)
    client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    seconds = client.get("timeoutSeconds")
    if seconds is not None and not 0 < seconds <= 86400:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid(path, seconds, "must be greater than 0 and less than 86400")


def _externals(spec: JsonObject) -> Iterator[Cause]:
    for index, one in enumerate(spec.get("externalIPs") or []):
        wrong = formats.ip(one) or formats.endpoint_ip(one)
        yield from each(f"spec.externalIPs[{index}]", one, wrong)


def _numbers(spec: JsonObject) -> Iterator[Cause]:
    ports: list[JsonObject] = spec.get("ports") or []
    for index, port in enumerate(ports):
        if port.get("nodePort") and spec["type"] == "ClusterIP":
            text = "may not be used when `type` is 'ClusterIP'"
            yield forbidden(f"spec.ports[{index}].nodePort", text)
    for index, port in enumerate(ports):
        earlier = [(one["protocol"], one.get("nodePort")) for one in ports[:index]]
        if port.get("nodePort") and (port["protocol"], port["nodePort"]) in earlier:
            yield duplicate(f"spec.ports[{index}].nodePort", port["nodePort"])
    for index, port in enumerate(ports):
        earlier = [(one["protocol"], one["port"]) for one in ports[:index]]
        if (port["protocol"], port["port"]) in earlier:
            # The value is shown as the API server's internal type spells it.
            shown = {"Name": "", "Protocol": port["protocol"], "AppProtocol": None}
            shown |= {"Port": port["port"], "TargetPort": 0, "NodePort": 0}
            yield duplicate(f"spec.ports[{index}]", shown)


def _balancing(spec: JsonObject) -> Iterator[Cause]:
    balanced = spec["type"] == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or []
    path = "spec.LoadBalancerSourceRanges"
    if ranges and not balanced:
        yield forbidden(path, _BALANCED)
    for index, one in enumerate(ranges):
        yield from each(f"{path}[{index}]", one.strip(), formats.cidr(one.strip()))
    if not balanced:
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if name in spec:
                yield forbidden(f"spec.{name}", _BALANCED)
    elif spec.get("loadBalancerClass"):
        named = spec["loadBalancerClass"]
        yield from each("spec.loadBalancerClass", named, formats.qualified(named))


def _traffic(spec: JsonObject) -> Iterator[Cause]:
    allowed = ("Cluster", "Local")
    outside = spec.get("externalTrafficPolicy")
    if outside and not _reachable(spec):
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", outside, text)
    elif outside and outside not in allowed:
        yield unsupported("spec.externalTrafficPolicy", outside, allowed)
    inside = spec.get("internalTrafficPolicy", "Cluster")
    if inside not in allowed:
        yield unsupported("spec.internalTrafficPolicy", inside, allowed)
    spread = ("PreferClose", "PreferSameZone", "PreferSameNode")
    if spec.get("trafficDistribution", "PreferClose") not in spread:
        yield unsupported("spec.trafficDistribution", spec["trafficDistribution"], spread)
