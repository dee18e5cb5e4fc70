"""The names of a cluster, and the messages in which they are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.machine import dns
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.records import Found, Target, Unresolved, Zone, searched
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
)
from tests.embedded.machine.resolver import (
    AAAA,
    FORMERR,
    NOERROR,
    NOTIMP,
    NXDOMAIN,
    REFUSED,
    SRV,
    TXT,
    A,
    query,
    read,
)

DOMAIN = "east.cluster.local"
READY, AWAY = EndpointConditions(ready=True), EndpointConditions(ready=False)


def service(name: str, address: str, namespace: str = "shop") -> Service:
    ports = (ServicePort(name="http", port=80), ServicePort(name="dns", port=53, protocol="UDP"))
    return Service(
        metadata=Metadata(name=name, namespace=namespace),
        spec=ServiceSpec(cluster_ip=address, ports=ports),
    )


WEB, SET, EMPTY = (
    service("web", "127.1.0.9"),
    service("set", "None"),
    service("empty", "None", "back"),
)
OUTSIDE = Service(
    metadata=Metadata(name="outside", namespace="shop"),
    spec=ServiceSpec(type="ExternalName", external_name="example.org"),
)
SLICES = (
    EndpointSlice(
        metadata=Metadata(name="set-1", namespace="shop"),
        address_type="IPv4",
        endpoints=(
            Endpoint(addresses=("127.2.0.2",), hostname="set-1", conditions=READY),
            Endpoint(addresses=("127.2.0.1",), hostname="set-0", conditions=READY),
            Endpoint(addresses=("127.2.0.3",), hostname="set-2", conditions=AWAY),
            Endpoint(addresses=("127.2.0.4",)),
        ),
        ports=(EndpointPort(name="http", port=8080),),
    ),
)


def zone(lowest: int = 1) -> Zone:
    services = {one.metadata.key: one for one in (WEB, SET, EMPTY, OUTSIDE)}
    slices = {Key("shop", "set"): SLICES}
    return Zone(DOMAIN, services, lambda key: slices.get(key, ()), Ports(lowest))


@pytest.mark.parametrize(
    "name, addresses",
    [
        pytest.param("web.shop.svc", ["127.1.0.9"], id="a Service"),
        pytest.param("set.shop.svc", ["127.2.0.1", "127.2.0.2", "127.2.0.4"], id="the ready ones"),
        pytest.param("set-0.set.shop.svc", ["127.2.0.1"], id="a named pod"),
        pytest.param("127-2-0-4.set.shop.svc", ["127.2.0.4"], id="a pod without a name"),
        pytest.param("outside.shop.svc", [], id="a name of another place"),
        pytest.param("shop.svc", [], id="a namespace"),
        pytest.param("svc", [], id="all Services"),
        pytest.param("set-2.set.shop.svc", None, id="a pod that is not ready"),
        pytest.param("set-9.set.shop.svc", None, id="a pod that is not there"),
        pytest.param("set-0.web.shop.svc", None, id="a pod of another Service"),
        pytest.param("empty.back.svc", None, id="nobody is ready"),
        pytest.param("web.back.svc", None, id="another namespace"),
        pytest.param("nowhere.svc", None, id="no namespace"),
        pytest.param("web.shop.pod", None, id="no Service"),
        pytest.param("x.y.set-0.set.shop.svc", None, id="too deep"),
    ],
)
def test_names(name: str, addresses: list[str] | None) -> None:
    found = zone().find(f"{name}.{DOMAIN}")
    assert (list(found.addresses) if found else None) == addresses


def test_only_names_of_the_domain_are_ours() -> None:
    assert zone().holds(DOMAIN)
    assert not zone().holds(f"not{DOMAIN}")
    assert zone().find(DOMAIN) == Found()
    assert zone().find("web.shop.svc.west.cluster.local") is None


@pytest.mark.parametrize(
    "name, targets",
    [
        pytest.param("_http._tcp.web", ["web:80"], id="a Service's port"),
        pytest.param("_dns._udp.web", ["web:53"], id="of another protocol"),
        pytest.param("_http._udp.web", None, id="not of this protocol"),
        pytest.param("_grpc._tcp.web", None, id="not of this name"),
        pytest.param("http.tcp.web", None, id="without underscores"),
        pytest.param("_http._tcp.none", None, id="of no Service"),
        pytest.param("web", ["web:53", "web:80"], id="all ports"),
        pytest.param(
            "_http._tcp.set", ["127-2-0-4.set:8080", "set-0.set:8080", "set-1.set:8080"], id="pods"
        ),
    ],
)
def test_ports(name: str, targets: list[str] | None) -> None:
    suffix = f".shop.svc.{DOMAIN}"
    found = zone().find(name + suffix)
    shown = (
        [f"{one.name.removesuffix(suffix)}:{one.port}" for one in found.targets] if found else None
    )
    assert shown == targets


def test_a_target_says_the_port_that_was_bound() -> None:
    own = f"web.shop.svc.{DOMAIN}"
    found = zone(1024).find(f"_http._tcp.{own}")
    assert found == Found(targets=(Target(own, 64080),))


@pytest.mark.parametrize(
    "name, namespace",
    [
        ("set-0.set", "shop"),
        ("set-0.set.shop", "back"),
        ("set-0.set.shop.svc", "back"),
        (f"set-0.set.shop.svc.{DOMAIN}", "back"),
        (f"set-0.set.shop.svc.{DOMAIN}.", "back"),
        ("Set-0.SET.shop", "back"),
    ],
)
def test_a_pod_finds_short_names(name: str, namespace: str) -> None:
    assert zone().resolve(name, namespace) == ("127.2.0.1",)


@pytest.mark.parametrize("name", ["set-0.set", "set.shop.", "shop.svc", "example.org"])
def test_what_a_pod_does_not_find(name: str) -> None:
    with pytest.raises(Unresolved, match=f"{name}: no such name in {DOMAIN}, seen from back"):
        zone().resolve(name, "back")


def test_the_search_path_is_that_of_a_pod() -> None:
    assert searched("web", "shop", "c.local") == (
        "web.shop.svc.c.local",
        "web.svc.c.local",
        "web.c.local",
        "web",
    )
    assert searched("a.b.c.d.e.f", "shop", "c.local")[0] == "a.b.c.d.e.f"
    assert searched("web.", "shop", "c.local") == ("web",)


@pytest.mark.parametrize(
    "name, kind, rcode, answers",
    [
        pytest.param("web.shop.svc", A, NOERROR, 1, id="an address"),
        pytest.param("WEB.shop.svc", A, NOERROR, 1, id="in any case"),
        pytest.param("web.shop.svc", AAAA, NOERROR, 0, id="no address of that family"),
        pytest.param("web.shop.svc", TXT, NOERROR, 0, id="no record of that type"),
        pytest.param("_http._tcp.web.shop.svc", SRV, NOERROR, 1, id="a port"),
        pytest.param("_http._tcp.web.shop.svc", A, NOERROR, 0, id="a port has no address"),
        pytest.param("none.shop.svc", A, NXDOMAIN, 0, id="no such name"),
    ],
)
def test_answers(name: str, kind: int, rcode: int, answers: int) -> None:
    reply = read(dns.answer(zone(), query(f"{name}.{DOMAIN}", kind, identity=513)) or b"")
    assert (reply.identity, reply.rcode, len(reply.answers)) == (513, rcode, answers)
    assert reply.authoritative
    assert not reply.truncated


GOOD = query(f"web.shop.svc.{DOMAIN}")


@pytest.mark.parametrize(
    "message, rcode",
    [
        pytest.param(query("example.org"), REFUSED, id="not our domain"),
        pytest.param(query(f"web.shop.svc.{DOMAIN}", of_class=3), REFUSED, id="another class"),
        pytest.param(GOOD[:-2], FORMERR, id="cut off"),
        pytest.param(GOOD[:12] + b"\xc0\x0c" + GOOD[-4:], FORMERR, id="a pointer to itself"),
        pytest.param(GOOD[:4] + b"\0\2" + GOOD[6:], FORMERR, id="two questions"),
        pytest.param(GOOD[:2] + b"\x28\0" + GOOD[4:], NOTIMP, id="not a query"),
    ],
)
def test_refusals(message: bytes, rcode: int) -> None:
    reply = read(dns.answer(zone(), message) or b"")
    assert (reply.rcode, reply.answers) == (rcode, ())


@pytest.mark.parametrize("message", [b"", GOOD[:11], GOOD[:2] + b"\x80\0" + GOOD[4:]])
def test_what_is_no_question_is_not_answered(message: bytes) -> None:
    assert dns.answer(zone(), message) is None


def test_what_does_not_fit_is_cut_short() -> None:
    message = query(f"set.shop.svc.{DOMAIN}")
    whole = dns.answer(zone(), message)
    assert whole is not None
    assert dns.answer(zone(), message, len(whole)) == whole
    cut = read(dns.answer(zone(), message, len(whole) - 1) or b"")
    assert (cut.truncated, cut.rcode, cut.answers) == (True, NOERROR, ())


@given(st.one_of(st.binary(max_size=64), st.binary(max_size=40).map(lambda rest: GOOD[:12] + rest)))
def test_no_message_does_harm(message: bytes) -> None:
    answer = dns.answer(zone(), message, dns.SMALL)
    if answer is not None:
        assert read(answer).identity == int.from_bytes(message[:2])
