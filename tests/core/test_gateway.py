"""What the gateway serves for an export: which names, which pods, and never anything else."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core import gateway
from isthmus.core.export import digest
from isthmus.core.gateway import Site
from isthmus.core.protocol import protocol
from isthmus.model.exports import Export, Port
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
)
from isthmus.model.routes import Callers, Inbound, Place
from tests.support.builders import endpoint, service, slice_of

SITE = Site(domain="west.cluster.local")
EAST = Callers(prefixes=("spiffe://east.isthmus/",))
WEB = service(
    spec=ServiceSpec(
        cluster_ip="10.9.9.9",
        ports=(ServicePort(port=80, name="http"), ServicePort(port=53, name="u", protocol="UDP")),
    )
)
SET = service("db", spec=ServiceSpec(cluster_ip="None", ports=(ServicePort(port=80, name="http"),)))


def slices(
    *endpoints: Endpoint, port: int = 8080, name: str = "http", family: str = "IPv4"
) -> EndpointSlice:
    return replace(
        slice_of("any", *endpoints),
        address_type=family,
        ports=(EndpointPort(name=name, port=port),),
    )


def inbound(
    one: Service, found: Sequence[EndpointSlice], callers: Callers = EAST, site: Site = SITE
) -> tuple[Inbound, ...]:
    export = digest(one, found)
    assert isinstance(export, Export)
    return gateway.inbound(export, one, found, callers, site)


def served(
    one: Service, found: Sequence[EndpointSlice], site: Site = SITE
) -> dict[str, list[tuple[str, int]]]:
    return {
        each.authority: [(place.address, place.port) for place in each.places]
        for each in inbound(one, found, site=site)
    }


WEB_80 = "web.shop.svc.west.cluster.local:80"


def conditions(
    ready: bool | None, serving: bool | None = None, terminating: bool | None = None
) -> EndpointConditions:
    return EndpointConditions(ready=ready, serving=serving, terminating=terminating)


def test_each_tcp_port_has_its_exact_name_and_the_pods_own_port() -> None:
    found = (
        slices(endpoint("10.2.0.2"), endpoint("10.2.0.1")),
        slices(endpoint("10.2.0.3"), port=9090),
    )
    assert served(WEB, found) == {
        WEB_80: [("10.2.0.1", 8080), ("10.2.0.2", 8080), ("10.2.0.3", 9090)]
    }


def test_each_named_pod_can_be_called_alone_and_all_together() -> None:
    found = [slices(endpoint("10.2.0.1", "db-0"), endpoint("10.2.0.2", "db-1"))]
    own = "db.shop.svc.west.cluster.local:80"
    assert served(SET, found) == {
        own: [("10.2.0.1", 8080), ("10.2.0.2", 8080)],
        f"db-0.{own}": [("10.2.0.1", 8080)],
        f"db-1.{own}": [("10.2.0.2", 8080)],
    }


def test_a_pod_without_a_name_is_called_only_together_with_the_others() -> None:
    found = [slices(endpoint("10.2.0.1", "db-0"), endpoint("10.2.0.2"))]
    own = "db.shop.svc.west.cluster.local:80"
    assert served(SET, found) == {
        own: [("10.2.0.1", 8080), ("10.2.0.2", 8080)],
        f"db-0.{own}": [("10.2.0.1", 8080)],
    }


def test_without_callers_nothing_is_served() -> None:
    assert inbound(WEB, [slices(endpoint("10.2.0.1"))], Callers()) == ()


@pytest.mark.parametrize(
    "known, expected",
    [
        pytest.param([conditions(True), conditions(False)], [0], id="ready"),
        pytest.param([conditions(None), conditions(False)], [0], id="unknown counts as ready"),
        pytest.param(
            [conditions(True), conditions(False, True, True)], [0], id="not what terminates"
        ),
        pytest.param(
            [conditions(False, False, False), conditions(False, True, True)],
            [1],
            id="unless nothing else is left",
        ),
        pytest.param([conditions(False, None, True)], [0], id="unknown counts as serving, too"),
        pytest.param([conditions(False, False, True)], [], id="but not if it does not serve"),
        pytest.param([conditions(False, True, False)], [], id="nor if it is merely not ready"),
    ],
)
def test_pods_are_chosen_as_kube_proxy_does(
    known: list[EndpointConditions], expected: list[int]
) -> None:
    pods = [
        Endpoint(addresses=(f"10.2.0.{number}",), conditions=one)
        for number, one in enumerate(known)
    ]
    found = served(WEB, [slices(*pods)])[WEB_80]
    assert found == [(f"10.2.0.{number}", 8080) for number in expected]


def test_pods_that_are_published_unready_are_served_unready() -> None:
    eager = replace(WEB, spec=replace(WEB.spec, publish_not_ready_addresses=True))
    found = [slices(endpoint("10.2.0.1", ready=False), endpoint("10.2.0.2"))]
    assert served(WEB, found)[WEB_80] == [("10.2.0.2", 8080)]
    assert served(eager, found)[WEB_80] == [("10.2.0.1", 8080), ("10.2.0.2", 8080)]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "fd00:ec2::254",
        "fe80::1",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "10.0.0.1",
        "::ffff:10.0.0.9",
        "64:ff9b::10.0.0.1",
        "64:ff9b::10.0.0.9",
        "2002:a00:9::",
        "fd00::9%1",
    ],
)
def test_addresses_that_no_pod_has_are_never_served(address: str) -> None:
    site = Site(
        domain="west.cluster.local",
        closed=frozenset({Place(address="10.0.0.1", port=8080)}),
        closed_hosts=frozenset({"10.0.0.9", "fd00::9"}),
    )
    for family in ("IPv4", "IPv6"):
        assert served(WEB, [slices(endpoint(address), family=family)], site)[WEB_80] == []


def test_beside_the_api_server_other_ports_can_be_served() -> None:
    site = Site(
        domain="west.cluster.local", closed=frozenset({Place(address="10.0.0.1", port=6443)})
    )
    assert served(WEB, [slices(endpoint("10.0.0.1"))], site)[WEB_80] == [("10.0.0.1", 8080)]


def test_loopback_addresses_are_for_those_who_ask_for_them() -> None:
    site = Site(domain="west.cluster.local", allow_loopback=True)
    assert served(WEB, [slices(endpoint("127.2.0.1"))], site)[WEB_80] == [("127.2.0.1", 8080)]


def test_a_pod_with_two_addresses_is_one_pod() -> None:
    both = replace(WEB, spec=replace(WEB.spec, ip_families=("IPv6", "IPv4")))
    found = [slices(endpoint("10.2.0.1")), slices(endpoint("fd00::1"), family="IPv6")]
    assert served(both, found)[WEB_80] == [("fd00::1", 8080)]
    assert served(both, found[:1])[WEB_80] == [("10.2.0.1", 8080)]
    names = slices(endpoint("db.example"), family="FQDN")
    assert served(both, [names])[WEB_80] == []


def test_ports_are_matched_by_name_and_unnumbered_ones_left_out() -> None:
    other = slices(endpoint("10.2.0.1"), name="metrics")
    open_ended = replace(other, ports=(EndpointPort(name="http", port=None),))
    datagrams = replace(other, ports=(EndpointPort(name="http", port=53, protocol="UDP"),))
    assert served(WEB, [other, open_ended, datagrams])[WEB_80] == []


@pytest.mark.parametrize(
    "app_protocol, name, expected",
    [
        (None, "", "tcp"),
        (None, "http", "http"),
        (None, "http-web", "http"),
        (None, "http2", "http2"),
        (None, "http2-web", "http2"),
        (None, "grpc", "http2"),
        (None, "grpc-api", "http2"),
        (None, "h2c", "http2"),
        (None, "ws", "http"),
        (None, "https", "tcp"),
        (None, "https-web", "tcp"),
        (None, "httpd", "tcp"),
        (None, "tls", "tcp"),
        (None, "mysql", "tcp"),
        ("http", "mysql", "http"),
        ("HTTP", "", "http"),
        ("http2", "", "http2"),
        ("grpc", "", "http2"),
        ("kubernetes.io/h2c", "", "http2"),
        ("kubernetes.io/ws", "", "http"),
        ("kubernetes.io/wss", "http", "tcp"),
        ("https", "http", "tcp"),
        ("tcp", "http", "tcp"),
        ("example.com/mine", "http", "tcp"),
    ],
)
def test_a_ports_protocol_is_what_it_says_or_what_its_name_starts_with(
    app_protocol: str | None, name: str, expected: str
) -> None:
    made = (
        Port(port=80, name=name, app_protocol=app_protocol),
        ServicePort(port=80, name=name, app_protocol=app_protocol),
        EndpointPort(port=80, name=name, app_protocol=app_protocol),
    )
    assert {protocol(one) for one in made} == {expected}


ADDRESSES = st.sampled_from(["10.2.0.1", "10.2.0.2", "127.0.0.1", "169.254.1.1", "fd00::1", "x"])
SLICES = st.lists(
    st.builds(
        lambda family, pods: EndpointSlice(
            metadata=Metadata(name="any", namespace="shop"),
            address_type=family,
            endpoints=tuple(pods),
            ports=(EndpointPort(name="http", port=8080),),
        ),
        st.sampled_from(["IPv4", "IPv6", "FQDN"]),
        st.lists(
            st.builds(
                Endpoint,
                addresses=st.tuples(ADDRESSES),
                hostname=st.sampled_from([None, "db-0", "db-1", "Bad"]),
                conditions=st.builds(
                    EndpointConditions,
                    ready=st.sampled_from([None, True, False]),
                    serving=st.sampled_from([None, True, False]),
                    terminating=st.sampled_from([None, True, False]),
                ),
            ),
            max_size=4,
        ),
    ),
    max_size=3,
)


@given(SLICES)
def test_whatever_slices_say_only_admitted_addresses_of_theirs_are_served(
    found: list[EndpointSlice],
) -> None:
    known = {address for one in found for each in one.endpoints for address in each.addresses}
    authorities = []
    for one in inbound(SET, found):
        authorities.append(one.authority)
        assert {place.address for place in one.places} <= known & {
            "10.2.0.1",
            "10.2.0.2",
            "fd00::1",
        }
        assert list(one.places) == sorted(set(one.places), key=lambda each: each.address)
        assert one.callers == EAST
    assert len(set(authorities)) == len(authorities)


@given(SLICES)
def test_the_order_of_slices_means_nothing(found: list[EndpointSlice]) -> None:
    shuffled = sorted(found, key=repr)
    assert inbound(SET, found) == inbound(SET, shuffled)
