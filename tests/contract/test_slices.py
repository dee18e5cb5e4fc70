"""EndpointSlices: which addresses are allowed, and what the server fills in."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import slice_of
from tests.contract.server import Server


@pytest.mark.parametrize(
    "fields, expected",
    [
        pytest.param(
            {"ports": [{"port": 80}]},
            {"ports": [{"name": "", "protocol": "TCP", "port": 80}]},
            id="a port",
        ),
        pytest.param({"ports": [{}]}, {"ports": [{"name": "", "protocol": "TCP"}]}, id="any port"),
        pytest.param({"ports": []}, {"ports": None}, id="no ports"),
        pytest.param({"endpoints": []}, {"endpoints": None}, id="no endpoints"),
        pytest.param(
            {"endpoints": [{"addresses": ["10.1.2.3"]}]},
            {"endpoints": [{"addresses": ["10.1.2.3"], "conditions": {}}]},
            id="an endpoint",
        ),
        pytest.param(
            {
                "endpoints": [
                    {
                        "addresses": ["10.1.2.3"],
                        "conditions": {"ready": False, "serving": True, "terminating": False},
                        "hostname": "pod-0",
                        "nodeName": "node-1",
                        "zone": "here",
                        "targetRef": {"kind": "Pod", "name": "pod-0"},
                    }
                ]
            },
            {
                "endpoints": [
                    {
                        "addresses": ["10.1.2.3"],
                        "conditions": {"ready": False, "serving": True, "terminating": False},
                        "hostname": "pod-0",
                        "nodeName": "node-1",
                        "zone": "here",
                        "targetRef": {"kind": "Pod", "name": "pod-0"},
                    }
                ]
            },
            id="a full endpoint",
        ),
    ],
)
async def test_slices_are_filled_in(
    server: Server, fields: JsonObject, expected: JsonObject
) -> None:
    made = (await server.create("endpointslices", {**slice_of(), **fields})).ok
    assert {key: made[key] for key in expected} == expected
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    "family, address, field, message",
    [
        pytest.param(
            "IPv4",
            "127.0.0.1",
            "[0]",
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            id="loopback",
        ),
        pytest.param(
            "IPv4",
            "169.254.169.254",
            "[0]",
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            id="link-local",
        ),
        pytest.param(
            "IPv4",
            "224.0.0.1",
            "[0]",
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            id="multicast",
        ),
        pytest.param(
            "IPv4", "0.0.0.0", "[0]", "may not be unspecified (0.0.0.0)", id="unspecified"
        ),
        pytest.param("IPv4", "fd00::1", "", "must be an IPv4 address", id="IPv6 among IPv4"),
        pytest.param("IPv6", "10.1.2.3", "", "must be an IPv6 address", id="IPv4 among IPv6"),
        pytest.param(
            "IPv4",
            "web.example.org",
            "[0]",
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            id="name",
        ),
        pytest.param("IPv4", "010.1.2.3", "[0]", "must not have leading 0s", id="leading zero"),
        pytest.param(
            "IPv6", "FD00::1", "[0]", 'must be in canonical form ("fd00::1")', id="capitals"
        ),
        pytest.param(
            "IPv6",
            "fe80::1",
            "[0]",
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            id="link-local IPv6",
        ),
    ],
)
async def test_bad_addresses(
    server: Server, family: str, address: str, field: str, message: str
) -> None:
    body = {**slice_of("web-1", address), "addressType": family}
    reply = await server.create("endpointslices", body)
    path, text = f"endpoints[0].addresses{field}", f'Invalid value: "{address}": {message}'
    assert reply.causes == [("FieldValueInvalid", path, text)]
    assert reply.refusal == (
        422,
        "Invalid",
        f'EndpointSlice.discovery.k8s.io "web-1" is invalid: {path}: {text}',
    )


@pytest.mark.parametrize(
    "family, address",
    [("IPv4", "10.1.2.3"), ("IPv4", "192.0.2.9"), ("IPv6", "fd00::1"), ("FQDN", "web.example.org")],
)
async def test_good_addresses(server: Server, family: str, address: str) -> None:
    body = {**slice_of("web-1", address), "addressType": family}
    assert (await server.create("endpointslices", body)).code == 201


@pytest.mark.parametrize(
    "fields, reason, field, message",
    [
        pytest.param(
            {"addressType": ""}, "FieldValueRequired", "addressType", "Required value", id="no type"
        ),
        pytest.param(
            {"addressType": "IPv5"},
            "FieldValueNotSupported",
            "addressType",
            'Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6"',
            id="unknown type",
        ),
        pytest.param(
            {"endpoints": [{"addresses": []}]},
            "FieldValueRequired",
            "endpoints[0].addresses",
            "Required value: must contain at least 1 address",
            id="no address",
        ),
        pytest.param(
            {"endpoints": [{"addresses": [f"10.0.{i // 250}.{i % 250}"]} for i in range(1001)]},
            "FieldValueTooMany",
            "endpoints",
            "Too many: 1001: must have at most 1000 items",
            id="too many",
        ),
        pytest.param(
            {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]},
            "FieldValueDuplicate",
            "ports[1].name",
            'Duplicate value: "a"',
            id="a port name twice",
        ),
        pytest.param(
            {"ports": [{"port": 1, "protocol": "ICMP"}]},
            "FieldValueNotSupported",
            "ports[0].protocol",
            'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
            id="unknown protocol",
        ),
    ],
)
async def test_bad_slices(
    server: Server, fields: JsonObject, reason: str, field: str, message: str
) -> None:
    reply = await server.create("endpointslices", {**slice_of(), **fields})
    assert reply.code == 422
    assert reply.causes == [(reason, field, message)]


async def test_a_hostname_is_a_label(server: Server) -> None:
    endpoint = {"addresses": ["10.1.2.3"], "hostname": "Pod_0"}
    reply = await server.create("endpointslices", {**slice_of(), "endpoints": [endpoint]})
    ((reason, field, message),) = reply.causes
    assert (reason, field) == ("FieldValueInvalid", "endpoints[0].hostname")
    assert message.startswith('Invalid value: "Pod_0": a lowercase RFC 1123 label must consist of')


async def test_the_kind_of_address_never_changes(server: Server) -> None:
    await server.create("endpointslices", slice_of())
    patch = {"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}]}
    reply = await server.merge("endpointslices/web-1", patch)
    assert reply.refusal == (
        422,
        "Invalid",
        'EndpointSlice.discovery.k8s.io "web-1" is invalid: addressType: Invalid value: "IPv6": '
        "field is immutable",
    )


@pytest.mark.parametrize(
    "patch, generation",
    [
        pytest.param({"endpoints": [{"addresses": ["10.9.9.9"]}]}, 2, id="endpoints"),
        pytest.param({"ports": [{"port": 81}]}, 2, id="ports"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 2, id="labels"),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, 1, id="annotations"),
    ],
)
async def test_generations_of_slices_count_labels_too(
    server: Server, patch: JsonObject, generation: int
) -> None:
    await server.create("endpointslices", slice_of())
    reply = await server.merge("endpointslices/web-1", patch)
    assert reply.ok["metadata"]["generation"] == generation


async def test_slices_are_found_by_the_label_of_their_service(server: Server) -> None:
    label = {"kubernetes.io/service-name": "web"}
    await server.create("endpointslices", slice_of("web-1", labels=label))
    await server.create("endpointslices", slice_of("other-1"))
    reply = await server.get("endpointslices", labelSelector="kubernetes.io/service-name=web")
    assert reply.names == ["web-1"]
