"""What a cluster needs beside its programs, as objects: CoreDNS and who it may ask, and a word
about images."""

from isthmus.model.wire import JsonObject
from lab.clusters import Cluster
from lab.versions import COREDNS

IMAGE = f"docker.io/library/coredns:{COREDNS}"
NAMESPACE = "kube-system"
NAME = "coredns"
LABELS = {"k8s-app": "kube-dns"}

# Names of the cluster alone: a question about any other gets "no such name" at once. Answers are
# kept for a second only, so that a story sees a changed mirror as soon as pods can.
COREFILE = """\
.:53 {{
    errors
    health :8080
    ready :8181
    kubernetes {domain} in-addr.arpa {{
        ttl 1
    }}
    cache 1
}}
"""
IF_NOT_PRESENT = """\
Object{spec: Object.spec{containers: object.spec.containers.map(one,
  Object.spec.containers{name: one.name, imagePullPolicy: "IfNotPresent"})}}
"""


def addons(cluster: Cluster) -> list[JsonObject]:
    return [
        *_content_with_what_is_loaded(),
        _object("v1", "ServiceAccount", NAMESPACE),
        _object("v1", "ConfigMap", NAMESPACE)
        | {"data": {"Corefile": COREFILE.format(domain=cluster.domain)}},
        _object("rbac.authorization.k8s.io/v1", "ClusterRole")
        | {
            "rules": [
                _may_read("", "endpoints", "services", "pods", "namespaces"),
                _may_read("discovery.k8s.io", "endpointslices"),
            ]
        },
        _object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
        | {
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": NAME,
            },
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        },
        _object("apps/v1", "Deployment", NAMESPACE) | {"spec": _deployment()},
        _object("v1", "Service", NAMESPACE, "kube-dns")
        | {
            "spec": {
                "clusterIP": cluster.dns_address,
                "selector": LABELS,
                "ports": [
                    {"name": "dns", "port": 53, "protocol": "UDP"},
                    {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
                ],
            }
        },
    ]


def _deployment() -> JsonObject:
    container = {
        "name": NAME,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
    }
    pod = {
        "serviceAccountName": NAME,
        "dnsPolicy": "Default",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}],
    }
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    return {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}


def _content_with_what_is_loaded() -> list[JsonObject]:
    """Without a registry nothing can be pulled: ordinary manifests, which ask for the newest of a
    name, get what was loaded under it."""
    group = "admissionregistration.k8s.io/v1"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [pods | {"operations": ["CREATE"]}]},
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": IF_NOT_PRESENT},
            }
        ],
    }
    return [
        _object(group, "MutatingAdmissionPolicy", name="loaded-images") | {"spec": policy},
        _object(group, "MutatingAdmissionPolicyBinding", name="loaded-images")
        | {"spec": {"policyName": "loaded-images"}},
    ]


def _may_read(group: str, *resources: str) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": ["list", "watch"]}


def _object(version: str, kind: str, namespace: str | None = None, name: str = NAME) -> JsonObject:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
