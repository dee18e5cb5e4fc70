"""The objects that the demo's story is about."""

import base64
from collections.abc import Sequence

from isthmus.model.wire import JsonObject

LABELS = {"app": "nginx-svc"}
NAMESPACE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "isthmus"},
}
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "nginx-svc", "labels": LABELS},
    "spec": {"clusterIP": "None", "selector": LABELS, "ports": [{"name": "http", "port": 80}]},
}
STATEFUL_SET: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "nginx-set", "labels": LABELS},
    "spec": {
        "serviceName": "nginx-svc",
        "replicas": 3,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "containers": [
                    {
                        "name": "nginx",
                        "image": "nginx:1.29",
                        "ports": [{"name": "http", "containerPort": 80}],
                    }
                ]
            },
        },
    },
}


def endpoints(pods: int) -> JsonObject:
    """The slice that the pods of the StatefulSet have, each under its own name."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "nginx-svc-5x2bq", "labels": _of_service()},
        "addressType": "IPv4",
        "endpoints": [
            {
                "addresses": [f"10.2.0.{number + 10}"],
                "hostname": f"nginx-set-{number}",
                "conditions": {"ready": True},
            }
            for number in range(pods)
        ],
        "ports": [{"name": "http", "port": 80}],
    }


def _of_service() -> dict[str, str]:
    return {**LABELS, "kubernetes.io/service-name": "nginx-svc"}


def link(kubeconfig: bytes, gateway: tuple[str, int]) -> Sequence[JsonObject]:
    """The Link to west, and the Secret that says how to reach its API."""
    address, port = gateway
    return (
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "cluster-credentials-west"},
            "data": {"kubeconfig": base64.b64encode(kubeconfig).decode()},
        },
        {
            "apiVersion": "isthmus.dev/v1alpha1",
            "kind": "Link",
            "metadata": {"name": "west"},
            "spec": {
                "via": "api",
                "credentialsSecret": "cluster-credentials-west",
                "gateway": {"addresses": [address], "port": port},
                "clusterDomain": "west.cluster.local",
                "enableHeadlessServices": True,
            },
        },
    )
