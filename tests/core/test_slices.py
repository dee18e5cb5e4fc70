"""Where calls to a mirror go: to the egress, or to the target's gateway, and nowhere else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core import slices
from isthmus.core.world import Address, LinkView
from isthmus.model import addresses, names
from isthmus.model.actions import Create, Delete, Report, Update
from isthmus.model.exports import Port
from isthmus.model.links import Gateway, Link
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
)
from tests.support.builders import export, headless, link, service, view
from tests.support.model import Source

GATEWAY = Gateway(addresses=("203.0.113.9",), port=4143, identity="gateway.west")
WEST = link("west")
EXTERNAL = link("west", data_plane="external", gateway=GATEWAY)
LINKERD = link("west", data_plane="linkerd", gateway=GATEWAY)
IPV4, IPV6 = Key("shop", "web-west-ipv4"), Key("shop", "web-west-ipv6")
TWO_PORTS = export(
    ports=(Port(port=80, name="http", app_protocol="http"), Port(port=443, name="tls"))
)


def settled(seen: LinkView, *egress: str, local: Source | None = None) -> Source:
    local = local or Source(egress=tuple(Address(ip) for ip in egress))
    assert local.settle(seen) == []
    return local


def readiness(local: Source) -> dict[str, bool | None]:
    return {
        endpoint.addresses[0]: endpoint.conditions.ready
        for one in local.slices.values()
        for endpoint in one.endpoints
    }


def test_with_envoy_calls_go_to_a_listener_of_the_egress() -> None:
    local = settled(view(WEST, TWO_PORTS), "10.0.0.8", "10.0.0.7")
    found = local.slices[IPV4]
    assert found.address_type == "IPv4"
    assert found.endpoints == tuple(
        Endpoint(addresses=(ip,), conditions=EndpointConditions(ready=True))
        for ip in ("10.0.0.7", "10.0.0.8")
    )
    assert [(port.name, port.app_protocol) for port in found.ports] == [
        ("http", "http"),
        ("tls", None),
    ]
    assert len({port.port for port in found.ports}) == 2
    assert all(20_000 <= (port.port or 0) <= 59_999 for port in found.ports)


@pytest.mark.parametrize("to", [EXTERNAL, LINKERD], ids=["external", "linkerd"])
def test_otherwise_calls_go_to_the_gateway_itself(to: Link) -> None:
    local = settled(view(to, TWO_PORTS), "10.0.0.7")
    found = local.slices[IPV4]
    assert [one.addresses for one in found.endpoints] == [("203.0.113.9",)]
    assert found.ports == (
        EndpointPort(name="http", port=4143, app_protocol="http"),
        EndpointPort(name="tls", port=4143),
    )


@pytest.mark.parametrize(
    "to, identity",
    [
        pytest.param(LINKERD, "gateway.west", id="linkerd"),
        pytest.param(EXTERNAL, None, id="external"),
        pytest.param(WEST, None, id="envoy"),
        pytest.param(link("west", data_plane="linkerd"), None, id="linkerd without an identity"),
    ],
)
def test_only_linkerds_proxies_are_told_whom_to_expect(to: Link, identity: str | None) -> None:
    local = settled(view(to, export()))
    assert local.slices[IPV4].metadata.annotations.get(names.GATEWAY_IDENTITY) == identity


@pytest.mark.parametrize(
    "given, ipv4, ipv6",
    [
        pytest.param(("203.0.113.9",), ["203.0.113.9"], None, id="IPv4"),
        pytest.param(("2001:db8::9",), [], ["2001:db8::9"], id="IPv6"),
        pytest.param(
            ("2001:db8::9", "203.0.113.9"), ["203.0.113.9"], ["2001:db8::9"], id="both, apart"
        ),
        pytest.param(
            ("203.0.113.9", "203.0.113.8"), ["203.0.113.8", "203.0.113.9"], None, id="in order"
        ),
        pytest.param(("203.0.113.9", "203.0.113.9"), ["203.0.113.9"], None, id="said twice"),
        pytest.param((), [], None, id="none yet: the slice is there, and empty"),
        pytest.param(("gateway.example",), [], None, id="a name that is not resolved"),
        pytest.param(("None",), [], None, id="no address at all"),
        pytest.param(("127.0.0.1",), [], None, id="loopback"),
        pytest.param(("::1",), [], None, id="loopback IPv6"),
        pytest.param(("::ffff:127.0.0.1",), [], None, id="loopback mapped into IPv6"),
        pytest.param(("::ffff:203.0.113.9",), [], None, id="IPv4 mapped into IPv6"),
        pytest.param(("0.0.0.0",), [], None, id="unspecified"),
        pytest.param(("::",), [], None, id="unspecified IPv6"),
        pytest.param(("169.254.169.254",), [], None, id="a cloud's metadata service"),
        pytest.param(("fd00:ec2::254",), [], None, id="a cloud's metadata service, IPv6"),
        pytest.param(("fe80::1",), [], None, id="link-local"),
        pytest.param(("fe80::1%eth0",), [], None, id="link-local with a zone"),
        pytest.param(("2001:db8::9%eth0",), [], None, id="a zone"),
        pytest.param(("224.0.0.1",), [], None, id="multicast"),
        pytest.param(("255.255.255.255",), [], None, id="broadcast"),
        pytest.param(("127.0.0.1", "203.0.113.9"), ["203.0.113.9"], None, id="one of two is bad"),
    ],
)
def test_which_addresses_get_into_slices(
    given: tuple[str, ...], ipv4: list[str], ipv6: list[str] | None
) -> None:
    local = settled(view(EXTERNAL, export(), gateway_addresses=given))
    assert [one.addresses[0] for one in local.slices[IPV4].endpoints] == ipv4
    found = local.slices.get(IPV6)
    assert (found and [one.addresses[0] for one in found.endpoints]) == ipv6


@pytest.mark.parametrize("bad", ["127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0"])
def test_the_same_policy_holds_for_the_egress(bad: str) -> None:
    assert readiness(settled(view(WEST, export()), bad, "10.0.0.7")) == {"10.0.0.7": True}


@given(given=st.lists(st.ip_addresses().map(str), max_size=8))
@settings(max_examples=50)
def test_no_address_outside_the_policy_gets_into_a_slice(given: list[str]) -> None:
    local = settled(view(EXTERNAL, export(), gateway_addresses=tuple(given)))
    for one in local.slices.values():
        for endpoint in one.endpoints:
            assert addresses.refusal(endpoint.addresses[0]) is None
            assert (":" in endpoint.addresses[0]) is (one.address_type == "IPv6")


@pytest.mark.parametrize("to", [WEST, EXTERNAL, LINKERD], ids=["envoy", "external", "linkerd"])
@pytest.mark.parametrize(
    "ready, alive, expected",
    [
        pytest.param(True, True, True, id="all is well"),
        pytest.param(False, True, False, id="no endpoint is ready in the target"),
        pytest.param(True, False, False, id="the gateway is dead: endpoints stay, not ready"),
    ],
)
def test_readiness(to: Link, ready: bool, alive: bool, expected: bool) -> None:
    seen = view(to, export(ready=ready), gateway_alive=alive)
    assert list(readiness(settled(seen, "203.0.113.9")).values()) == [expected]


def test_an_egress_that_is_not_ready_is_not_ready_here() -> None:
    local = Source(egress=(Address("10.0.0.7", ready=False), Address("10.0.0.8")))
    settled(view(WEST, export()), local=local)
    assert readiness(local) == {"10.0.0.7": False, "10.0.0.8": True}


def test_health_changes_slices_and_nothing_else() -> None:
    local = settled(view(WEST, export(), headless("db", "db-0")), "10.0.0.7")
    before = dict(local.services)
    dead = view(WEST, export(), headless("db", "db-0"), gateway_alive=False)
    done = local.round(dead)
    assert {type(one) for one in done} == {Update}
    assert len(done) == 3
    assert local.services == before
    assert local.round(dead) == []


def test_the_order_in_which_addresses_come_is_no_reason_to_write() -> None:
    given = ("203.0.113.9", "203.0.113.8", "2001:db8::9")
    local = settled(view(EXTERNAL, export(), gateway_addresses=given))
    assert local.round(view(EXTERNAL, export(), gateway_addresses=given[::-1])) == []


def test_more_endpoints_than_a_slice_holds_go_into_more_slices() -> None:
    egress = tuple(Address(f"10.0.{one // 250}.{one % 250 + 1}") for one in range(2001))
    local = Source(egress=egress)
    settled(view(WEST, export()), local=local)
    sizes = {key.name: len(one.endpoints) for key, one in local.slices.items()}
    assert sizes == {"web-west-ipv4": 1000, "web-west-ipv4-1": 1000, "web-west-ipv4-2": 1}
    assert len({one.ports for one in local.slices.values()}) == 1
    local.egress = egress[:10]
    settled(view(WEST, export()), local=local)
    assert list(local.slices) == [IPV4]


def test_an_address_family_that_is_gone_takes_its_slice_along() -> None:
    both = view(EXTERNAL, export(), gateway_addresses=("203.0.113.9", "2001:db8::9"))
    local = settled(both)
    settled(view(EXTERNAL, export()), local=local)
    assert list(local.slices) == [IPV4]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"endpoints": ()}, id="no endpoints"),
        pytest.param({"endpoints": (Endpoint(addresses=("10.66.6.6",)),)}, id="another endpoint"),
        pytest.param({"ports": (EndpointPort(name="http", port=22),)}, id="another port"),
        pytest.param({"ports": ()}, id="no ports"),
    ],
)
def test_an_edited_slice_is_repaired(edit: dict[str, object]) -> None:
    local = settled(view(WEST, export()), "10.0.0.7")
    before = local.slices[IPV4]
    local.edit(replace(before, **edit))
    (done,) = local.round(view(WEST, export()))
    assert isinstance(done, Update)
    after = local.slices[IPV4]
    assert after.endpoints == before.endpoints
    assert [port.name for port in after.ports] == ["http"]


def test_labels_of_a_slice_are_repaired_too() -> None:
    local = settled(view(WEST, export()), "10.0.0.7")
    before = local.slices[IPV4]
    labels = {**before.metadata.labels, names.CLUSTER: "mars", "more": "x"}
    local.edit(replace(before, metadata=replace(before.metadata, labels=labels)))
    local.round(view(WEST, export()))
    assert local.slices[IPV4].metadata.labels == before.metadata.labels


def foreign(name: str, *, manager: str = "somebody") -> EndpointSlice:
    """A slice that a tenant made for our mirror, to catch its callers."""
    return EndpointSlice(
        metadata=Metadata(
            namespace="shop",
            name=name,
            uid="theirs",
            labels={names.SERVICE_NAME: "web-west", names.MANAGED_BY: manager},
        ),
        address_type="IPv4",
        endpoints=(Endpoint(addresses=("10.66.6.6",)),),
        ports=(EndpointPort(name="http", port=31_000),),
    )


@pytest.mark.parametrize("manager", ["somebody", names.MANAGER])
def test_a_foreign_slice_for_our_mirror_is_never_touched(manager: str) -> None:
    theirs = foreign("web-west-x", manager=manager)
    local = Source(slices={theirs.metadata.key: theirs})
    settled(view(WEST, export()), local=local)
    assert local.slices[theirs.metadata.key] == theirs
    assert local.slices[IPV4].ports[0].port != 31_000, "its ports are not ours to remember"
    settled(view(WEST), local=local)
    assert local.slices == {theirs.metadata.key: theirs}


def test_a_foreign_slice_under_the_name_of_ours_is_reported() -> None:
    theirs = foreign("web-west-ipv4")
    local = Source(slices={theirs.metadata.key: theirs})
    (report,) = local.settle(view(WEST, export()))
    assert isinstance(report, Report)
    assert (report.reason, report.export) == ("NameTaken", Key("shop", "web"))
    assert "web-west-ipv4" in report.message
    assert local.slices == {theirs.metadata.key: theirs}


@pytest.mark.parametrize("label", [names.MANAGED_BY, names.MIRRORED])
def test_a_slice_that_a_user_has_made_their_own_is_not_seized(label: str) -> None:
    local = settled(view(WEST, export()), "10.0.0.7")
    ours = local.slices[IPV4]
    labels = {key: value for key, value in ours.metadata.labels.items() if key != label}
    local.edit(replace(ours, metadata=replace(ours.metadata, labels=labels)))
    theirs = local.slices[IPV4]
    (report,) = local.settle(view(WEST, export()))
    assert isinstance(report, Report)
    assert report.reason == "NameTaken"
    settled(view(WEST), local=local)
    assert local.slices == {IPV4: theirs}


def test_a_slice_of_ours_that_was_pointed_at_another_service_is_taken_off_it() -> None:
    local = settled(view(WEST, export()), "10.0.0.7")
    local.edit(service("bank"))
    theirs = local.services[Key("shop", "bank")]
    moved = local.slices[IPV4]
    labels = {**moved.metadata.labels, names.SERVICE_NAME: "bank"}
    local.edit(replace(moved, metadata=replace(moved.metadata, labels=labels)))
    done = local.round(view(WEST, export()))
    assert [one.object.metadata.name for one in done if isinstance(one, Create)] == [IPV4.name]
    assert local.slices[IPV4].metadata.labels[names.SERVICE_NAME] == "web-west"
    assert local.services[theirs.metadata.key] == theirs


def test_the_data_plane_can_be_changed() -> None:
    local = settled(view(WEST, export()), "10.0.0.7")
    before = dict(local.services)
    settled(view(EXTERNAL, export()), local=local)
    assert readiness(local) == {"203.0.113.9": True}
    settled(view(WEST, export()), local=local)
    assert readiness(local) == {"10.0.0.7": True}
    assert local.services == before


def test_a_proxy_on_this_machine_is_called_only_where_that_was_allowed() -> None:
    source = Source(egress=(Address("127.0.0.7"),))
    world = source.world(view(WEST, export()))
    key = Key("shop", "web-west")
    (claim,) = world.claims[key]
    mirror = service("web-west")
    for allowed, expected in ((False, []), (True, ["127.0.0.7"])):
        (found,) = slices.desired(key, claim, replace(world, allow_loopback=allowed), mirror)
        assert [ip for one in found.endpoints for ip in one.addresses] == expected


def test_a_slice_of_ours_for_another_family_makes_room_for_the_right_one() -> None:
    """The family of a slice cannot be changed."""
    local = settled(view(WEST, export()), "10.0.0.7")
    before = local.slices[IPV4]
    local.edit(replace(before, address_type="IPv6"))
    (done,) = local.round(view(WEST, export()))
    assert isinstance(done, Delete)
    settled(view(WEST, export()), local=local)
    assert (local.slices[IPV4].address_type, len(local.slices)) == ("IPv4", 1)
