"""Pod specs: the defaults and rules that pods and the templates of workloads share."""

from collections.abc import Iterator

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import duplicate, each, invalid, missing, required, unsupported
from isthmus.embedded.kinds.services import PROTOCOLS
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

_PULL = ("Always", "IfNotPresent", "Never")
_RESTART = ("Always", "Never", "OnFailure")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = {"exec", "grpc", "httpGet", "tcpSocket"}
_MODED = ("secret", "configMap", "downwardAPI", "projected")


def fill(spec: JsonObject) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in (*(spec.get("initContainers") or []), *(spec["containers"] or [])):
        _fill_container(container)
    for volume in spec.get("volumes") or []:
        _fill_volume(volume)


def _fill_container(container: JsonObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for name in _PROBES:
        if name in container:
            probe = container[name]
            for key, value in _PROBE.items():
                probe.setdefault(key, value)
            _fill_action(probe)
            if "grpc" in probe:
                probe["grpc"]["service"] = probe["grpc"].get("service") or ""
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _fill_action(hook)
    for variable in container.get("env") or []:
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference:
            reference.setdefault("apiVersion", "v1")


_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def _fill_action(action: JsonObject) -> None:
    if "httpGet" in action:
        action["httpGet"].setdefault("path", "/")
        action["httpGet"].setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    """Only an image that can move under its name is asked for every time."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2] or "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def _fill_volume(volume: JsonObject) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for name in _MODED:
        if name in volume:
            volume[name].setdefault("defaultMode", 0o644)
    projected = (volume.get("projected") or {}).get("sources") or []
    for source in projected:
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    described = [*projected, volume]
    for items in ((one.get("downwardAPI") or {}).get("items") or [] for one in described):
        for item in items:
            if "fieldRef" in item:
                item["fieldRef"].setdefault("apiVersion", "v1")


def judge(path: str, spec: JsonObject) -> Iterator[Cause]:
    """What is wrong with the pod spec at ``path``."""
    volumes = {volume["name"] for volume in spec.get("volumes") or []}
    yield from _named(f"{path}.volumes", spec.get("volumes") or [])
    for index, container in enumerate(spec.get("initContainers") or []):
        yield from _container(f"{path}.initContainers[{index}]", container, volumes)
    containers = spec["containers"] or []
    if not containers:
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for index, container in enumerate(containers):
        here, name = f"{path}.containers[{index}]", container["name"]
        yield from _name(here, name, seen)
        yield from _container(here, container, volumes)
    if spec["restartPolicy"] not in _RESTART:
        yield unsupported(f"{path}.restartPolicy", spec["restartPolicy"], _RESTART)
    for index, toleration in enumerate(spec.get("tolerations") or []):
        operator = toleration.get("operator", "")
        if not toleration.get("key") and operator != "Exists":
            text = "operator must be Exists when `key` is empty, which means "
            text += '"match all values and all keys"'
            yield invalid(f"{path}.tolerations[{index}].operator", operator, text)


def _named(path: str, items: list[JsonObject]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        yield from _name(f"{path}[{index}]", item["name"], seen)


def _name(path: str, name: str, seen: set[str]) -> Iterator[Cause]:
    if not name:
        yield required(f"{path}.name")
        return
    yield from each(f"{path}.name", name, formats.label(name))
    if name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)


def _container(path: str, container: JsonObject, volumes: set[str]) -> Iterator[Cause]:
    if not container.get("image"):
        yield required(f"{path}.image")
    for index, port in enumerate(container.get("ports") or []):
        here, number = f"{path}.ports[{index}]", port["containerPort"]
        if port.get("name"):
            yield from each(f"{here}.name", port["name"], formats.port_name(port["name"]))
        if number == 0:
            yield required(f"{here}.containerPort")
        else:
            yield from each(f"{here}.containerPort", number, formats.port_number(number))
        if port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{here}.protocol", port["protocol"], PROTOCOLS)
    for index, variable in enumerate(container.get("env") or []):
        if not variable["name"]:
            yield required(f"{path}.env[{index}].name")
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here = f"{path}.volumeMounts[{index}]"
        if not mount["name"]:
            yield required(f"{here}.name")
        elif mount["name"] not in volumes:
            yield missing(f"{here}.name", mount["name"])
        if not mount["mountPath"]:
            yield required(f"{here}.mountPath")
    for name in _PROBES:
        if name in container and not _HANDLERS & container[name].keys():
            yield required(f"{path}.{name}", "must specify a handler type")
    if container["imagePullPolicy"] not in _PULL:
        yield unsupported(f"{path}.imagePullPolicy", container["imagePullPolicy"], _PULL)
