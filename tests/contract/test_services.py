"""Services: ports, types, and what the server fills in."""

import ipaddress

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import obj, service
from tests.contract.server import Server

RANGE = ipaddress.ip_network("10.96.0.0/16")
PORT = {"protocol": "TCP", "port": 80, "targetPort": 80}
FILLED = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "internalTrafficPolicy": "Cluster",
}
PORT_RANGE = "must be between 1 and 65535, inclusive"


def bare(name: str, spec: JsonObject) -> JsonObject:
    return {**obj("v1", "Service", name), "spec": spec}


async def test_a_service_gets_an_address_and_defaults(server: Server) -> None:
    made = (await server.create("services", service())).ok
    address = made["spec"]["clusterIP"]
    assert ipaddress.ip_address(address) in RANGE
    assert made["spec"] == {
        "ports": [PORT],
        "clusterIP": address,
        "clusterIPs": [address],
        **FILLED,
    }
    assert made["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    "spec, filled",
    [
        pytest.param(
            {"selector": {"a": "b"}},
            {"selector": {"a": "b"}, **FILLED},
            id="with a selector",
        ),
        pytest.param(
            {},
            {**FILLED, "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"},
            id="without one, of both families",
        ),
        pytest.param({"ports": [{"port": 80}], "selector": {}}, None, id="with an empty one"),
    ],
)
async def test_headless_services(
    server: Server, spec: JsonObject, filled: JsonObject | None
) -> None:
    made = (await server.create("services", bare("web", {"clusterIP": "None", **spec}))).ok
    assert (made["spec"]["clusterIP"], made["spec"]["clusterIPs"]) == ("None", ["None"])
    if filled is not None:
        assert made["spec"] == {"clusterIP": "None", "clusterIPs": ["None"], **filled}


@pytest.mark.parametrize(
    "port, filled",
    [
        pytest.param({"port": 80}, PORT, id="target is the port"),
        pytest.param({"port": 80, "targetPort": 0}, PORT, id="target 0 is none"),
        pytest.param(
            {"port": 80, "targetPort": "web"}, {**PORT, "targetPort": "web"}, id="target by name"
        ),
        pytest.param(
            {"port": 80, "protocol": "UDP"}, {**PORT, "protocol": "UDP"}, id="protocol stays"
        ),
        pytest.param(
            {"port": 80, "appProtocol": "kubernetes.io/h2c"},
            {**PORT, "appProtocol": "kubernetes.io/h2c"},
            id="application protocol stays",
        ),
    ],
)
async def test_ports_are_filled_in(server: Server, port: JsonObject, filled: JsonObject) -> None:
    made = (await server.create("services", bare("web", {"ports": [port]}))).ok
    assert made["spec"]["ports"] == [filled]


@pytest.mark.parametrize(
    "spec, field, message",
    [
        pytest.param(
            {"type": "Other"},
            "type",
            'Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", '
            '"LoadBalancer", "NodePort"',
            id="unknown type",
        ),
        pytest.param(
            {"type": "ExternalName"}, "externalName", "Required value", id="no external name"
        ),
        pytest.param(
            {"type": "LoadBalancer", "clusterIP": "None"},
            "clusterIPs[0]",
            "Invalid value: \"None\": may not be set to 'None' for LoadBalancer services",
            id="headless load balancer",
        ),
        pytest.param(
            {"sessionAffinity": "Other"},
            "sessionAffinity",
            'Unsupported value: "Other": supported values: "ClientIP", "None"',
            id="unknown affinity",
        ),
        pytest.param({"ports": []}, "ports", "Required value", id="no ports"),
    ],
)
async def test_bad_services(server: Server, spec: JsonObject, field: str, message: str) -> None:
    reply = await server.create("services", service("web", spec))
    assert [cause[1:] for cause in reply.causes] == [(f"spec.{field}", message)]
    assert reply.refusal == (
        422,
        "Invalid",
        f'Service "web" is invalid: spec.{field}: {message}',
    )


@pytest.mark.parametrize(
    "ports, causes",
    [
        pytest.param(
            [{"port": 0}],
            [
                ("[0].port", f"Invalid value: 0: {PORT_RANGE}"),
                ("[0].targetPort", f"Invalid value: 0: {PORT_RANGE}"),
            ],
            id="zero",
        ),
        pytest.param(
            [{"port": 70000, "targetPort": 1}],
            [("[0].port", f"Invalid value: 70000: {PORT_RANGE}")],
            id="too large",
        ),
        pytest.param(
            [{"port": 80}, {"port": 81}],
            [("[0].name", "Required value"), ("[1].name", "Required value")],
            id="several need names",
        ),
        pytest.param(
            [{"name": "x", "port": 80}, {"name": "x", "port": 81}],
            [("[1].name", 'Duplicate value: "x"')],
            id="a name twice",
        ),
        pytest.param(
            [{"name": "x", "port": 80}, {"name": "y", "port": 80}],
            [
                (
                    "[1]",
                    'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                    '"TargetPort":0,"NodePort":0}',
                )
            ],
            id="a port twice",
        ),
        pytest.param(
            [{"port": 80, "protocol": "ICMP"}],
            [("[0].protocol", 'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"')],
            id="unknown protocol",
        ),
        pytest.param(
            [{"port": 80, "targetPort": "much-too-long-a-name"}],
            [
                (
                    "[0].targetPort",
                    'Invalid value: "much-too-long-a-name": must be no more than 15 characters',
                )
            ],
            id="long target name",
        ),
        pytest.param(
            [{"port": 80, "nodePort": 30080}],
            [("[0].nodePort", "Forbidden: may not be used when `type` is 'ClusterIP'")],
            id="node port without need",
        ),
    ],
)
async def test_bad_ports(
    server: Server, ports: list[JsonObject], causes: list[tuple[str, str]]
) -> None:
    reply = await server.create("services", bare("web", {"ports": ports}))
    assert reply.code == 422
    assert [cause[1:] for cause in reply.causes] == [
        (f"spec.ports{field}", message) for field, message in causes
    ]


async def test_a_port_may_be_used_by_two_protocols(server: Server) -> None:
    ports = [{"name": "tcp", "port": 53}, {"name": "udp", "port": 53, "protocol": "UDP"}]
    assert (await server.create("services", bare("dns", {"ports": ports}))).code == 201


@pytest.mark.parametrize(
    "kind, more",
    [
        pytest.param("NodePort", {}, id="NodePort"),
        pytest.param("LoadBalancer", {"allocateLoadBalancerNodePorts": True}, id="LoadBalancer"),
    ],
)
async def test_reachable_services_get_node_ports(
    server: Server, kind: str, more: JsonObject
) -> None:
    made = (await server.create("services", service("web", {"type": kind}))).ok
    (port,) = made["spec"]["ports"]
    assert 30000 <= port["nodePort"] <= 32767
    assert made["spec"]["externalTrafficPolicy"] == "Cluster"
    assert {key: made["spec"][key] for key in more} == more
    back = (await server.merge("services/web", {"spec": {"type": "ClusterIP"}})).ok
    assert back["spec"] == {
        "ports": [PORT],
        "clusterIP": made["spec"]["clusterIP"],
        "clusterIPs": made["spec"]["clusterIPs"],
        **FILLED,
    }


async def test_a_replacement_may_leave_out_what_the_server_chose(server: Server) -> None:
    made = (await server.create("services", service())).ok
    reply = await server.replace("services/web", service())
    assert reply.ok["spec"] == made["spec"]


async def test_ports_cannot_all_be_removed(server: Server) -> None:
    await server.create("services", service())
    reply = await server.merge("services/web", {"spec": {"ports": None}})
    assert reply.causes == [("FieldValueRequired", "spec.ports", "Required value")]


async def test_affinity_by_client_gets_a_timeout(server: Server) -> None:
    made = (await server.create("services", service("web", {"sessionAffinity": "ClientIP"}))).ok
    assert made["spec"]["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


async def test_the_api_itself_is_a_service(server: Server) -> None:
    found = (await server.get("/api/v1/namespaces/default/services/kubernetes")).ok
    assert found["spec"]["clusterIP"] == "10.96.0.1"
    assert found["spec"]["ports"][0]["port"] == 443
    assert found["metadata"]["labels"] == {
        "component": "apiserver",
        "provider": "kubernetes",
    }
