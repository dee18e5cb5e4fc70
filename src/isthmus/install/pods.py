"""The pods of our workloads: what they run, are given, and may do. All of it passes the restricted
profile: no root, no privileges, no writable disk.

Everything that a process needs stands in its arguments; only its own name comes by environment.
"""

from collections.abc import Iterable

import msgspec

from isthmus import __version__
from isthmus.install.parts import ADMIN, ADS, METRICS, SIGN, VERSION, labels, selector
from isthmus.install.values import TOKEN_SECONDS, Proxy, Values, Workload
from isthmus.model.links import Gateway as Target
from isthmus.model.names import ANCHORS, CONTROLLER, EGRESS, GATEWAY, TRUST, audience
from isthmus.model.wire import Json, JsonObject

TOKEN = "/var/run/secrets/isthmus.dev"
ANCHORS_MOUNT = "/etc/isthmus/trust"
DIRECTORY = "/run/isthmus"  # in memory: a proxy's key is there
END = 15  # seconds that a process has beyond its time for draining: Envoy's end, a last word
CONTROLLER_END = 20  # seconds: 5 to finish what is being written, 4 to hand the lease over
# With the version, which is the default: a server takes it for a change where it is left out, and
# for a conflict between two who apply the same.
_OWN_NAME = {"apiVersion": "v1", "fieldPath": "metadata.name"}
ROLES = {GATEWAY: "gateway", EGRESS: "egress"}


def controller(values: Values) -> JsonObject:
    container = {
        **_container(values, CONTROLLER, values.controller),
        "args": _controller_args(values),
        "ports": [_port("https", SIGN), _port("grpc", ADS), _port("admin", ADMIN)],
        "livenessProbe": _probe("/livez", "admin", failures=6),
        "readinessProbe": _probe("/readyz", "admin", failures=2),
    }
    more = {"automountServiceAccountToken": True, "terminationGracePeriodSeconds": CONTROLLER_END}
    return _pod(values, CONTROLLER, values.controller, {**more, "containers": [container]})


def proxy(values: Values, name: str) -> JsonObject:
    """A gateway or an egress.

    It has no liveness probe: its launcher starts an Envoy again that has ended, and one that waits
    for its controller would only be killed for waiting.
    """
    wanted = values.gateway if name == GATEWAY else values.egress
    calls = [_port("tls", Target().port)] if name == GATEWAY else []
    container = {
        **_container(values, name, wanted),
        "args": _proxy_args(values, name, wanted),
        "ports": [*calls, _port("metrics", METRICS)],
        "readinessProbe": _probe("/ready", "metrics", failures=2),
        "volumeMounts": [
            {"name": "state", "mountPath": DIRECTORY},
            {"name": "token", "mountPath": TOKEN, "readOnly": True},
            {"name": "trust", "mountPath": ANCHORS_MOUNT, "readOnly": True},
        ],
    }
    more = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": wanted.drain + END,
        "volumes": _volumes(values),
    }
    return _pod(values, name, wanted, {**more, "containers": [container]})


def _controller_args(values: Values) -> list[str]:
    cidrs = (word for one in values.local_cidrs for word in ("--local-cidr", one))
    return [
        *("controller", *_who(values), "--cluster-domain", values.cluster_domain),
        *("--workers", str(values.controller.workers)),
        *cidrs,
        *(("--allow-loopback",) if values.allow_loopback else ()),
        *_logs(values),
    ]


def _proxy_args(values: Values, name: str, wanted: Proxy) -> list[str]:
    host = f"{CONTROLLER}.{values.namespace}.svc.{values.cluster_domain}"
    return [
        *("proxy", "--role", ROLES[name], *_who(values)),
        *("--controller", f"{host}:{SIGN}", "--ads", f"{host}:{ADS}"),
        *("--token-file", f"{TOKEN}/token", "--trust-file", f"{ANCHORS_MOUNT}/{ANCHORS}"),
        *("--directory", DIRECTORY, "--concurrency", str(wanted.concurrency)),
        *("--drain", str(wanted.drain), "--linger", str(wanted.linger)),
        *_logs(values),
    ]


def _who(values: Values) -> Iterable[str]:
    return (
        *("--cluster-name", values.cluster_name, "--mesh-domain", values.mesh_domain),
        *("--namespace", values.namespace, "--name", "$(POD_NAME)"),
    )


def _logs(values: Values) -> Iterable[str]:
    return ("--log-level", values.log_level, "--log-format", values.log_format)


def _volumes(values: Values) -> list[JsonObject]:
    token = {
        "serviceAccountToken": {
            "audience": audience(values.cluster_name),
            "expirationSeconds": TOKEN_SECONDS,
            "path": "token",
        }
    }
    return [
        {"name": "state", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        {"name": "token", "projected": {"sources": [token]}},
        # Not optional: a proxy starts when there is something to trust.
        {"name": "trust", "configMap": {"name": TRUST}},
    ]


def _container(values: Values, name: str, workload: Workload) -> JsonObject:
    resources = workload.resources
    return {
        "name": name.removeprefix("isthmus-"),
        "image": values.image.reference,
        "imagePullPolicy": values.image.pull_policy,
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": _OWN_NAME}}],
        "resources": {
            kind: {key: str(value) for key, value in found.items()}
            for kind, found in (("requests", resources.requests), ("limits", resources.limits))
            if found
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }


def _pod(values: Values, name: str, workload: Workload, more: JsonObject) -> JsonObject:
    """A pod template; whatever nobody has asked for is left out of it."""
    metadata: JsonObject = {"labels": labels(name) | {VERSION: __version__}}
    if workload.pod_annotations:
        metadata["annotations"] = dict(workload.pod_annotations)
    chosen: dict[str, Json] = {
        "nodeSelector": dict(workload.node_selector),
        "tolerations": [msgspec.to_builtins(one) for one in workload.tolerations],
        "priorityClassName": workload.priority_class_name,
        "imagePullSecrets": [{"name": one} for one in values.image.pull_secrets],
    }
    spec = {
        "serviceAccountName": name,
        "enableServiceLinks": False,
        "securityContext": _user(values),
        "topologySpreadConstraints": [
            _spread(name, "kubernetes.io/hostname"),
            _spread(name, "topology.kubernetes.io/zone"),
        ],
        **more,
        **{key: value for key, value in chosen.items() if value},
    }
    return {"metadata": metadata, "spec": spec}


def _user(values: Values) -> JsonObject:
    user = values.run_as_user
    # The group lets a process that is nobody read its token, and write to its directory.
    chosen = {} if user is None else {"runAsUser": user, "runAsGroup": user, "fsGroup": user}
    return {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, **chosen}


def _spread(name: str, topology: str) -> JsonObject:
    """Keep pods apart where that can be; a small cluster must still be able to run them all."""
    return {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector(name),
        "matchLabelKeys": ["pod-template-hash"],
    }


def _port(name: str, number: int) -> JsonObject:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _probe(path: str, port: str, *, failures: int) -> JsonObject:
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": 5,
        "timeoutSeconds": 3,
        "failureThreshold": failures,
    }
