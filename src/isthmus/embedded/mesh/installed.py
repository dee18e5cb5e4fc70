"""What an installation of Isthmus consists of, in a cluster that runs on this machine."""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Network

from isthmus.embedded.machine.machine import DNS_OFFSET, DNS_PORT
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.wire import JsonObject

SYSTEM = "isthmus"  # the namespace of our own workloads
NAME_SERVER = "kube-dns"  # as it is called in every cluster, in kube-system
WORKLOADS = {
    CONTROLLER: {"https": 8443, "grpc": 8444},
    GATEWAY: {"tls": 4143},
    EGRESS: {"metrics": 9991},
}
NAMESPACE: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}


def workloads(form: Callable[[str], JsonObject]) -> Iterator[JsonObject]:
    """Yield the accounts and Services of our own, and what runs behind them in this ``form``."""
    for name, ports in WORKLOADS.items():
        yield {"kind": "ServiceAccount", "metadata": _metadata(name)}
        yield {
            "kind": "Service",
            "metadata": _metadata(name),
            "spec": {
                "type": "LoadBalancer" if name == GATEWAY else "ClusterIP",
                "selector": {"app": name},
                "ports": [
                    {"name": port, "port": number, "targetPort": number}
                    for port, number in ports.items()
                ],
            },
        }
        yield form(name)


def pod(name: str) -> JsonObject:
    """A workload as a single pod of its name."""
    return {"kind": "Pod", "metadata": _metadata(name), "spec": _spec(name)}


def deployment(name: str) -> JsonObject:
    """A workload as users have it."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": _spec(name)}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"kind": "Deployment", "metadata": _metadata(name), "spec": spec}


def name_server(service_range: str) -> JsonObject:
    """The Service by which a cluster's name server is found."""
    protocols = (("dns", "UDP"), ("dns-tcp", "TCP"))
    ports = [{"name": name, "port": DNS_PORT, "protocol": one} for name, one in protocols]
    return {
        "kind": "Service",
        "metadata": {"name": NAME_SERVER, "namespace": "kube-system"},
        "spec": {"clusterIP": str(IPv4Network(service_range)[DNS_OFFSET]), "ports": ports},
    }


def _metadata(name: str) -> JsonObject:
    return {"name": name, "namespace": SYSTEM, "labels": {"app": name}}


def _spec(name: str) -> JsonObject:
    container = {
        "name": "main",
        "image": f"isthmus.dev/{name.removeprefix('isthmus-')}",
        "ports": [{"containerPort": number} for number in WORKLOADS[name].values()],
    }
    return {"serviceAccountName": name, "containers": [container]}
