"""Where a gateway is reached: what its Service says, what was typed, and what is missing."""

import pytest

from isthmus.cli.joining.gateway import NoGatewayAddress, Said, reached
from isthmus.model.links import Gateway
from isthmus.model.objects import (
    Ingress,
    LoadBalancer,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)

NAME = "isthmus/isthmus-gateway"
TLS = ServicePort(name="tls", port=443, target_port="tls", node_port=30443)
METRICS = ServicePort(name="metrics", port=9991)
UDP = ServicePort(name="quic", port=443, protocol="UDP")
NOTHING = Said()


def service(
    *ingress: Ingress,
    type_: str = "LoadBalancer",
    ports: tuple[ServicePort, ...] = (TLS,),
    external_ips: tuple[str, ...] = (),
) -> Service:
    return Service(
        metadata=Metadata(name="isthmus-gateway", namespace="isthmus"),
        spec=ServiceSpec(type=type_, ports=ports, external_ips=external_ips),
        status=ServiceStatus(load_balancer=LoadBalancer(ingress=ingress)),
    )


IP, NAMED = Ingress(ip="203.0.113.9"), Ingress(hostname="lb.example")


@pytest.mark.parametrize(
    "said, found, expected",
    [
        pytest.param(NOTHING, service(IP), (("203.0.113.9",), 443), id="an IP"),
        pytest.param(NOTHING, service(NAMED), (("lb.example",), 443), id="a name"),
        pytest.param(
            NOTHING, service(IP, NAMED, IP), (("203.0.113.9", "lb.example"), 443), id="both"
        ),
        pytest.param(
            NOTHING,
            service(type_="ClusterIP", external_ips=("198.51.100.1",)),
            (("198.51.100.1",), 443),
            id="an external IP",
        ),
        pytest.param(
            NOTHING, service(IP, ports=(METRICS, TLS, UDP)), (("203.0.113.9",), 443), id="by name"
        ),
        pytest.param(
            NOTHING, service(IP, ports=(UDP, METRICS)), (("203.0.113.9",), 9991), id="the only TCP"
        ),
        pytest.param(
            Said(("a.example",)), service(IP), (("a.example",), 443), id="typed goes first"
        ),
        pytest.param(Said((), 1234), service(IP), (("203.0.113.9",), 1234), id="a port"),
        pytest.param(
            Said(("10.0.0.5",)), service(type_="NodePort"), (("10.0.0.5",), 30443), id="of a node"
        ),
        pytest.param(Said(("a.example",)), None, (("a.example",), 4143), id="no Service"),
        pytest.param(Said(("::1",), 1), None, (("::1",), 1), id="on this machine, for a try"),
    ],
)
def test_where_it_is(
    said: Said, found: Service | None, expected: tuple[tuple[str, ...], int]
) -> None:
    addresses, port = expected
    assert reached(said, found, NAME) == Gateway(addresses=addresses, port=port)


@pytest.mark.parametrize(
    "said, found, complaint",
    [
        (NOTHING, None, "there is no Service isthmus/isthmus-gateway to be seen; is Isthmus"),
        (NOTHING, service(), "of type LoadBalancer has been given no address yet; wait"),
        (NOTHING, service(Ingress()), "of type LoadBalancer has been given no address yet; wait"),
        (NOTHING, service(type_="ClusterIP"), "of type ClusterIP cannot be reached from outside"),
        (
            NOTHING,
            service(type_="NodePort"),
            "of type NodePort has no address of its own; name one",
        ),
        (NOTHING, service(IP, ports=(METRICS, METRICS)), "has 2 TCP ports, and none of them alone"),
        (Said(("a b",)), None, "no gateway can be at 'a b': it is not a host name"),
        (Said(("169.254.169.254",)), None, "it is a cloud's metadata service"),
    ],
)
def test_what_is_missing_is_named_with_the_way_out(
    said: Said, found: Service | None, complaint: str
) -> None:
    with pytest.raises(NoGatewayAddress) as refused:
        reached(said, found, NAME)
    assert complaint in str(refused.value)
    assert said.addresses or "--gateway-" in str(refused.value)
