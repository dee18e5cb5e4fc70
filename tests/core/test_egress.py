"""What the egress carries: for which mirrors it listens, whom it calls, and as whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core import egress, gateway
from isthmus.core.egress import Caller
from isthmus.core.export import digest
from isthmus.core.gateway import Site
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.names import REMOTE_NAME
from isthmus.model.objects import (
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Pod,
    PodIP,
    PodStatus,
    ServicePort,
    ServiceSpec,
)
from isthmus.model.routes import Callers, Outbound, Place
from tests.support.builders import endpoint, export, headless, link, pod, service, slice_of, view
from tests.support.model import Source

WEST = link("west")
SITE = Site(domain="west.cluster.local")
EAST = Callers(prefixes=("spiffe://east.isthmus/",))


def mirrored(*exports: Export) -> Source:
    """A source in which ``exports`` of west have been mirrored."""
    source = Source()
    assert source.settle(view(WEST, *exports)) == []
    return source


def carried(source: Source, name: str) -> tuple[Outbound, ...]:
    key = Key("shop", name)
    return egress.outbound(source.services[key], slices_of(source, name), WEST)


def slices_of(source: Source, name: str) -> list[EndpointSlice]:
    return [one for key, one in source.slices.items() if key.name.startswith(f"{name}-ipv")]


def test_a_mirrored_port_has_the_listener_that_its_slice_records() -> None:
    source = mirrored(export())
    (found,) = carried(source, "web-west")
    (slice_,) = slices_of(source, "web-west")
    assert found == Outbound(
        listener=slice_.ports[0].port or 0,
        link="west",
        authority="web.shop.svc.west.cluster.local:80",
        namespace="shop",
        service="web-west",
        protocol="http",
    )


def test_the_authority_is_exactly_the_one_that_the_gateway_serves() -> None:
    there = service(
        "db", spec=ServiceSpec(cluster_ip="None", ports=(ServicePort(port=80, name="http"),))
    )
    endpoints = (endpoint("10.0.0.1", "db-0"), endpoint("10.0.0.2", "db-1"))
    ports = (EndpointPort(name="http", port=8080),)
    slices = (replace(slice_of("db", *endpoints), ports=ports),)
    found = digest(there, slices)
    assert isinstance(found, Export)
    inbound = gateway.inbound(found, there, slices, EAST, SITE)
    served = {one.authority: one.protocol for one in inbound}
    source = mirrored(headless("db", "db-0", "db-1"))
    asked = {
        one.authority: one.protocol
        for name in ("db-west", "db-0-west", "db-1-west")
        for one in carried(source, name)
    }
    assert len(asked) == 2  # a headless mirror itself leads to its pods, not to the egress
    assert asked.items() <= served.items()


def renamed(metadata: Metadata, remote: str) -> Metadata:
    return replace(metadata, annotations={**metadata.annotations, REMOTE_NAME: remote})


@pytest.mark.parametrize(
    "remote",
    ["", "%DOWNSTREAM_LOCAL_ADDRESS%", "web.shop:80", "web shop", "WEB.shop", "a" * 300, "a..b"],
)
def test_text_that_is_no_name_leads_nowhere(remote: str) -> None:
    source = mirrored(export())
    mirror, (slice_,) = source.services[Key("shop", "web-west")], slices_of(source, "web-west")
    mirror = replace(mirror, metadata=renamed(mirror.metadata, remote))
    slice_ = replace(slice_, metadata=renamed(slice_.metadata, remote))
    assert egress.outbound(mirror, [slice_], WEST) == ()


def test_a_slice_for_something_else_than_the_mirror_stands_for_says_nothing() -> None:
    source = mirrored(export())
    mirror, (slice_,) = source.services[Key("shop", "web-west")], slices_of(source, "web-west")
    for metadata in (
        renamed(slice_.metadata, "db.shop.svc.west.cluster.local"),
        replace(slice_.metadata, labels={}),
        replace(slice_.metadata, annotations={}),
    ):
        assert egress.outbound(mirror, [replace(slice_, metadata=metadata)], WEST) == ()
    assert egress.outbound(mirror, [slice_], WEST) != ()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(link("west", data_plane="linkerd"), id="linkerd carries it"),
        pytest.param(link("west", data_plane="external"), id="somebody else carries it"),
        pytest.param(link("north"), id="another link"),
        pytest.param(
            replace(WEST, metadata=replace(WEST.metadata, name="we.st")), id="no cluster's name"
        ),
    ],
)
def test_what_is_not_ours_to_carry_is_left_alone(other: Link) -> None:
    source = mirrored(export())
    mirror = source.services[Key("shop", "web-west")]
    assert egress.outbound(mirror, slices_of(source, "web-west"), other) == ()


def test_the_gateways_of_a_link_must_prove_to_be_that_clusters_gateway() -> None:
    found = egress.peer(WEST, ("10.0.0.9", "10.0.0.8", "10.0.0.9"), "isthmus", "isthmus")
    assert found is not None
    assert found.identity == "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway"
    assert found.places == (
        Place(address="10.0.0.8", port=4143),
        Place(address="10.0.0.9", port=4143),
    )
    assert egress.peer(link("west", data_plane="linkerd"), (), "isthmus", "isthmus") is None


@pytest.mark.parametrize(
    "given, account",
    [
        pytest.param(pod(), "shop/curl", id="a running pod"),
        pytest.param(pod(phase="Pending"), "shop/curl", id="one whose first container starts"),
        pytest.param(pod(phase="Succeeded"), None, id="one that has ended"),
        pytest.param(pod(phase="Failed"), None, id="one that has failed"),
        pytest.param(pod(phase="Unknown"), None, id="one that nobody has heard of lately"),
        pytest.param(pod(ip=""), None, id="no address yet"),
        pytest.param(pod(ip="nonsense"), None, id="no address at all"),
        pytest.param(pod(host_network=True), "", id="the node's address"),
        pytest.param(pod(service_account_name=""), "", id="no account"),
    ],
)
def test_an_address_is_a_live_pods_with_an_account_of_its_own(
    given: Pod, account: str | None
) -> None:
    found = egress.caller(given)
    assert (found and found.account) == account


def test_all_addresses_of_a_pod_are_its_own_in_the_form_that_envoy_prints() -> None:
    ips = (PodIP(ip="10.1.0.1"), PodIP(ip="FD00:0::1"))
    both = replace(pod(), status=PodStatus(phase="Running", pod_ip="10.1.0.1", pod_ips=ips))
    found = egress.caller(both)
    assert found is not None
    assert found.addresses == ("10.1.0.1", "fd00::1")


ACCOUNTS = st.sampled_from(["shop/curl", "shop/web", "bank/web", ""])


@given(st.lists(ACCOUNTS, max_size=4))
def test_an_address_that_two_accounts_claim_is_nobodys(accounts: list[str]) -> None:
    claimants = [Caller(Key("shop", str(n)), one, ("10.1.0.1",)) for n, one in enumerate(accounts)]
    expected = accounts[0] if len(set(accounts)) == 1 else ""
    assert egress.account(claimants) == expected
