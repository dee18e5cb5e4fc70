"""Defaults and judgements of Services, as kube-apiserver 1.36 pronounces them."""

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.embedded.kinds.sent import (
    admitted,
    complaints,
    service,
)


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param(
            {},
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
            },
            id="ClusterIP",
        ),
        pytest.param(
            {"clusterIP": "None"},
            {
                "clusterIPs": ["None"],
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "RequireDualStack",
            },
            id="headless without a selector",
        ),
        pytest.param(
            {"clusterIP": "None", "selector": {"a": "b"}},
            {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
            id="headless with a selector",
        ),
        pytest.param(
            {"type": "LoadBalancer"},
            {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True},
            id="LoadBalancer",
        ),
        pytest.param(
            {"sessionAffinity": "ClientIP"},
            {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}},
            id="session affinity",
        ),
    ],
)
def test_services_are_completed(spec: JsonObject, expected: JsonObject) -> None:
    done = admitted(service(**spec))["spec"]
    assert {name: done.get(name) for name in expected} == expected


RANGE = "must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param({"ports": []}, [("spec.ports", "Required value")], id="no ports"),
        pytest.param(
            {"ports": [{"port": 70000, "targetPort": 1}]},
            [("spec.ports[0].port", f"Invalid value: 70000: {RANGE}")],
            id="port out of range",
        ),
        pytest.param(
            {"ports": [{"port": 1, "targetPort": "web-Port"}]},
            [
                (
                    "spec.ports[0].targetPort",
                    'Invalid value: "web-Port": must contain only alpha-numeric characters '
                    "(a-z, 0-9), and hyphens (-)",
                )
            ],
            id="target port name",
        ),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 2, "name": "b"}]},
            [("spec.ports[0].name", "Required value")],
            id="unnamed among several",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]},
            [("spec.ports[1].name", 'Duplicate value: "a"')],
            id="two of one name",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
            [
                (
                    "spec.ports[1]",
                    'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,'
                    '"TargetPort":0,"NodePort":0}',
                )
            ],
            id="two of one number",
        ),
        pytest.param(
            {"ports": [{"port": 1, "protocol": "HTTP"}]},
            [
                (
                    "spec.ports[0].protocol",
                    'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
                )
            ],
            id="protocol",
        ),
        pytest.param(
            {"type": "Foo"},
            [
                (
                    "spec.type",
                    'Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", '
                    '"LoadBalancer", "NodePort"',
                )
            ],
            id="type",
        ),
        pytest.param(
            {"clusterIP": "1.2.3"},
            [
                (
                    "spec.clusterIPs[0]",
                    'Invalid value: "1.2.3": must be a valid IP address, '
                    "(e.g. 10.9.8.7 or 2001:db8::ffff)",
                )
            ],
            id="cluster IP",
        ),
        pytest.param(
            {"clusterIP": "None", "type": "NodePort"},
            [
                (
                    "spec.clusterIPs[0]",
                    "Invalid value: \"None\": may not be set to 'None' for NodePort services",
                )
            ],
            id="headless with node ports",
        ),
        pytest.param(
            {"externalTrafficPolicy": "Local"},
            [
                (
                    "spec.externalTrafficPolicy",
                    'Invalid value: "Local": may only be set for externally-accessible services',
                )
            ],
            id="external policy of an internal Service",
        ),
        pytest.param(
            {"type": "ExternalName"}, [("spec.externalName", "Required value")], id="no target"
        ),
    ],
)
def test_services_are_judged(spec: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert complaints(service(**spec)) == expected


def settled_service(**spec: Json) -> JsonObject:
    return admitted(service(**{"clusterIP": "10.96.0.9", **spec}))


@pytest.mark.parametrize(
    "old, spec, expected",
    [
        pytest.param(
            settled_service(),
            {"clusterIP": "10.96.0.8"},
            [("spec.clusterIPs[0]", 'Invalid value: ["10.96.0.8"]: may not change once set')],
            id="another address",
        ),
        pytest.param(
            settled_service(),
            {"clusterIP": "None"},
            [("spec.clusterIPs[0]", 'Invalid value: ["None"]: may not change once set')],
            id="headless afterwards",
        ),
        pytest.param(settled_service(), {"clusterIP": "10.96.0.9"}, [], id="the same"),
        pytest.param(
            settled_service(),
            {"type": "ExternalName", "externalName": "a.b"},
            [],
            id="becomes an ExternalName",
        ),
    ],
)
def test_cluster_addresses_stay(
    old: JsonObject, spec: JsonObject, expected: list[tuple[str, str]]
) -> None:
    sent = {**old, "spec": {**old["spec"], **spec}}
    assert complaints(sent, old) == expected


def test_a_change_of_type_takes_along_what_belonged_to_the_old_one() -> None:
    old = settled_service(type="LoadBalancer")
    sent = {**old, "spec": {**old["spec"], "type": "ClusterIP"}}
    spec = admitted(sent, old)["spec"]
    assert not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & spec.keys()
