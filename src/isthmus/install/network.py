"""How pods are reached: Services, and who is let in to which port.

Policies are about who comes in. Where our pods go is decided by Links and exports, which may lead
anywhere, and is nothing that a fixed list could say.
"""

from collections.abc import Iterator

from isthmus.core.listeners import FIRST, LAST
from isthmus.install.parts import (
    ADMIN,
    ADS,
    METRICS,
    NAME,
    SIGN,
    inside,
    selector,
)
from isthmus.install.values import Values
from isthmus.model.links import Gateway as Target
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.wire import JsonObject

LISTEN = Target().port  # of gateways, whatever their Service shows to others


def services(values: Values) -> Iterator[JsonObject]:
    """The Services. That of the egress gives it no address: mirrors lead to its pods themselves,
    which the controller finds by its EndpointSlices."""
    yield _service(values, CONTROLLER, {"ports": [_port("https", SIGN), _port("grpc", ADS)]})
    yield _gateway(values)
    ports = [_port("metrics", METRICS)]
    yield _service(values, EGRESS, {"clusterIP": "None", "ports": ports})


def policies(values: Values) -> Iterator[JsonObject]:
    """Who is let in."""
    pods: list[JsonObject] = [{"namespaceSelector": {}}]  # all pods of the cluster, and nobody else
    names = values.network_policy.metrics_namespaces
    scrapers = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": one}}}
        for one in names
    ]
    proxies = [{"podSelector": selector(GATEWAY, EGRESS)}]
    yield _policy(values, CONTROLLER, _open(proxies, SIGN, ADS), _open(scrapers, ADMIN))
    yield _policy(values, GATEWAY, _open([], LISTEN), _open(scrapers, METRICS))
    calls = {"from": pods, "ports": [{"protocol": "TCP", "port": FIRST, "endPort": LAST}]}
    yield _policy(values, EGRESS, calls, _open(scrapers, METRICS))


def _gateway(values: Values) -> JsonObject:
    wanted = values.gateway.service
    port = _port("tls", wanted.port) | {"targetPort": "tls"}
    if wanted.node_port is not None:
        port["nodePort"] = wanted.node_port
    spec: JsonObject = {"type": wanted.type, "ports": [port]}
    if wanted.type != "ClusterIP":
        spec["externalTrafficPolicy"] = wanted.external_traffic_policy
    if wanted.type == "LoadBalancer":
        if wanted.load_balancer_class:
            spec["loadBalancerClass"] = wanted.load_balancer_class
        if wanted.load_balancer_source_ranges:
            spec["loadBalancerSourceRanges"] = list(wanted.load_balancer_source_ranges)
    made = _service(values, GATEWAY, spec)
    if wanted.annotations:
        made["metadata"]["annotations"] = dict(wanted.annotations)
    return made


def _service(values: Values, name: str, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": inside(values, name),
        "spec": {"type": "ClusterIP", "selector": {NAME: name}, **spec},
    }


def _port(name: str, number: int) -> JsonObject:
    return {"name": name, "port": number, "protocol": "TCP", "targetPort": name}


def _policy(values: Values, name: str, *ingress: JsonObject) -> JsonObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": inside(values, name),
        "spec": {
            "podSelector": selector(name),
            "policyTypes": ["Ingress"],
            "ingress": list(ingress),
        },
    }


def _open(peers: list[JsonObject], *ports: int) -> JsonObject:
    """Let ``peers`` in, or everybody if there are none, to these ports."""
    made: JsonObject = {"ports": [{"protocol": "TCP", "port": port} for port in ports]}
    return {"from": peers, **made} if peers else made
