"""The addresses of Services: which are given, chosen, kept and refused."""

import ipaddress

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import obj, service
from tests.contract.server import Server
from tests.support.waiting import until

RANGE = ipaddress.ip_network("10.96.0.0/16")


@pytest.mark.parametrize(
    "spec, field, message",
    [
        pytest.param(
            {"clusterIP": "192.168.1.1"},
            "clusterIPs",
            'Invalid value: ["192.168.1.1"]: failed to allocate IP 192.168.1.1: the provided '
            "network does not match the current range",
            id="address out of range",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.0"},
            "clusterIPs",
            'Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided '
            "network does not match the current range",
            id="address of the network",
        ),
        pytest.param(
            {"clusterIP": "nonsense"},
            "clusterIPs[0]",
            'Invalid value: "nonsense": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)",
            id="no address",
        ),
        pytest.param(
            {"ipFamilyPolicy": "RequireDualStack"},
            "ipFamilyPolicy",
            'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
            "services",
            id="dual-stack",
        ),
        pytest.param(
            {"ipFamilies": ["IPv6"]},
            "ipFamilies[0]",
            'Invalid value: "IPv6": not configured on this cluster',
            id="IPv6",
        ),
        pytest.param(
            {"clusterIP": "fd00::1"},
            "clusterIPs[0]",
            'Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
            id="IPv6 address",
        ),
        pytest.param(
            {"clusterIP": "fd00::1", "ipFamilies": ["IPv4"]},
            "clusterIPs[0]",
            'Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[0]`',
            id="address of another family",
        ),
        pytest.param(
            {"clusterIP": "10.96.9.1", "clusterIPs": ["10.96.9.1", "10.96.9.2"]},
            "clusterIPs",
            'Invalid value: ["10.96.9.1","10.96.9.2"]: may specify no more than one IP for each '
            "IP family",
            id="two addresses of one family",
        ),
        pytest.param(
            {"clusterIP": "10.96.9.1", "clusterIPs": ["10.96.9.1", "fd00::1", "10.96.9.2"]},
            "clusterIPs",
            'Invalid value: ["10.96.9.1","fd00::1","10.96.9.2"]: may only hold up to 2 values',
            id="three addresses",
        ),
        pytest.param(
            {
                "clusterIP": "None",
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "SingleStack",
            },
            "ipFamilyPolicy",
            "Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when "
            "multiple IP families are specified",
            id="two families in a single stack",
        ),
    ],
)
async def test_bad_addresses(server: Server, spec: JsonObject, field: str, message: str) -> None:
    reply = await server.create("services", service("web", spec))
    assert [cause[1:] for cause in reply.causes] == [(f"spec.{field}", message)]
    assert reply.refusal == (
        422,
        "Invalid",
        f'Service "web" is invalid: spec.{field}: {message}',
    )


async def test_addresses_differ_and_can_be_chosen(server: Server) -> None:
    first = (await server.create("services", service("one"))).ok["spec"]["clusterIP"]
    second = (await server.create("services", service("two"))).ok["spec"]["clusterIP"]
    assert first != second
    taken = service("three", {"clusterIP": first})
    reply = await server.create("services", taken)
    assert reply.refusal == (
        422,
        "Invalid",
        f'Service "three" is invalid: spec.clusterIPs: Invalid value: ["{first}"]: failed to '
        f"allocate IP {first}: provided IP is already allocated",
    )
    await server.delete("services/one")
    made = (await server.create("services", taken)).ok
    assert made["spec"]["clusterIP"] == first


async def test_who_only_tries_is_given_no_address(server: Server) -> None:
    held = (await server.create("services", service("one"))).ok["spec"]["clusterIP"]
    tried = (await server.create("services", service("two"), dryRun="All")).ok
    assert tried["spec"]["clusterIPs"] == [str(RANGE[0])]
    taken = await server.create("services", service("two", {"clusterIP": held}), dryRun="All")
    assert taken.code == 201
    outside = service("two", {"clusterIP": "192.168.1.1"})
    assert (await server.create("services", outside, dryRun="All")).refusal == (
        422,
        "Invalid",
        'Service "two" is invalid: spec.clusterIPs: Invalid value: ["192.168.1.1"]: failed to '
        "allocate IP 192.168.1.1: the provided IP (192.168.1.1) is not in the valid range. The "
        "range of valid IPs is 10.96.0.0/16",
    )


async def test_an_external_name_has_no_address(server: Server) -> None:
    spec = {"type": "ExternalName", "externalName": "example.org"}
    made = (await server.create("services", {**obj("v1", "Service", "out"), "spec": spec})).ok
    assert made["spec"] == {**spec, "sessionAffinity": "None"}
    patch = {"spec": {"type": "ClusterIP", "externalName": None, "ports": [{"port": 80}]}}
    changed = (await server.merge("services/out", patch)).ok
    assert ipaddress.ip_address(changed["spec"]["clusterIP"]) in RANGE


async def test_becoming_an_external_name_gives_the_address_back(server: Server) -> None:
    made = (await server.create("services", service("web"))).ok
    address = made["spec"]["clusterIP"]
    patch = {"spec": {"type": "ExternalName", "externalName": "example.org"}}
    changed = (await server.merge("services/web", patch)).ok
    assert "clusterIP" not in changed["spec"]
    # A real one answers before it has given the address back.
    wish = service("next", {"clusterIP": address})
    await until(lambda: server.create("services", wish), lambda again: again.code == 201)


@pytest.mark.parametrize("wish", ["10.96.200.200", "192.168.1.1", "None"])
async def test_an_address_never_changes(server: Server, wish: str) -> None:
    await server.create("services", service())
    reply = await server.merge("services/web", {"spec": {"clusterIP": wish}})
    assert reply.refusal == (
        422,
        "Invalid",
        f'Service "web" is invalid: spec.clusterIPs[0]: Invalid value: ["{wish}"]: '
        "may not change once set",
    )


@pytest.mark.parametrize(
    "spec", [{"clusterIP": None}, {"clusterIP": ""}, {"clusterIP": None, "clusterIPs": None}]
)
async def test_an_address_that_is_left_out_stays(server: Server, spec: JsonObject) -> None:
    made = (await server.create("services", service())).ok
    reply = await server.merge("services/web", {"spec": spec})
    assert reply.ok == made


async def test_endpoints_of_any_family_can_become_those_of_one(server: Server) -> None:
    made = (await server.create("services", service("web", {"clusterIP": "None"}))).ok
    assert made["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    reply = await server.merge("services/web", {"spec": {"ipFamilies": ["IPv4"]}})
    assert reply.causes == [
        (
            "FieldValueInvalid",
            "spec.ipFamilyPolicy",
            "Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary "
            "IP family",
        )
    ]
    single = (await server.merge("services/web", {"spec": {"ipFamilyPolicy": "SingleStack"}})).ok
    assert single["spec"]["ipFamilies"] == ["IPv4"]
