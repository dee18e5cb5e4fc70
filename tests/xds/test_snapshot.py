"""What a snapshot shares with the one before, and what it finds missing."""

from collections.abc import Iterable

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2, scoped_route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as http_pb2,
)
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from google.protobuf.message import Message

from isthmus.model.routes import Outbound
from isthmus.xds import egress, identify, late
from isthmus.xds.names import room
from isthmus.xds.references import Reference, references
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    extension,
    resource,
    together,
)
from isthmus.xds.snapshot import dangling, snapshot
from tests.support.envoy_files import message

ROOMS = [(CLUSTER, room("west", number)) for number in range(1, late.ROOMS + 1)]

OUTBOUND = Outbound(
    listener=20_000,
    link="west",
    authority="web.shop.svc.west.cluster.local:80",
    namespace="shop",
    service="web-west",
    protocol="tcp",
)
ADS: dict[str, object] = {"ads": {}}


def cluster(name: str, **fields: object) -> Message:
    return cluster_pb2.Cluster(name=name, **fields)


def listener(name: str, *filters: Message) -> Message:
    found = [extension(one.DESCRIPTOR.name, one) for one in filters]
    return listener_pb2.Listener(name=name, filter_chains=[{"filters": found}])


def tls(*secrets: dict[str, object]) -> dict[str, object]:
    context = {"tls_certificate_sds_secret_configs": secrets}
    return extension("tls", tls_pb2.UpstreamTlsContext(common_tls_context=context))


def taken(*messages: Message) -> Iterable[str]:
    return [str(one) for one in dangling(snapshot(together(map(resource, messages))))]


@pytest.mark.parametrize(
    "found, expected",
    [
        pytest.param(cluster("c", type="STATIC"), set(), id="a cluster that lists its endpoints"),
        pytest.param(cluster("c", type="EDS"), {(ENDPOINTS, "c")}, id="a cluster by name"),
        pytest.param(
            cluster("c", type="EDS", eds_cluster_config={"service_name": "e"}),
            {(ENDPOINTS, "e")},
            id="a cluster by the name of a service",
        ),
        pytest.param(
            cluster("c", transport_socket=tls({"name": "s", "sds_config": ADS})),
            {(SECRET, "s")},
            id="a secret that is sent",
        ),
        pytest.param(
            cluster("c", transport_socket=tls({"name": "s", "sds_config": {"path": "/s"}})),
            set(),
            id="a secret in a file",
        ),
        pytest.param(
            cluster(
                "c",
                transport_socket_matches=[
                    {"name": "m", "transport_socket": tls({"name": "s", "sds_config": ADS})}
                ],
            ),
            {(SECRET, "s")},
            id="deep inside",
        ),
        pytest.param(
            listener("l", tcp_proxy_pb2.TcpProxy(cluster="c")), {(CLUSTER, "c")}, id="tcp"
        ),
        pytest.param(
            listener(
                "l",
                tcp_proxy_pb2.TcpProxy(
                    weighted_clusters={"clusters": [{"name": "w", "weight": 1}]}
                ),
            ),
            {(CLUSTER, "w")},
            id="weighted tcp",
        ),
        pytest.param(
            listener(
                "l",
                http_pb2.HttpConnectionManager(
                    rds={"route_config_name": "r", "config_source": ADS}
                ),
            ),
            {(ROUTES, "r")},
            id="routes by name",
        ),
        pytest.param(
            route_pb2.RouteConfiguration(
                name="r",
                virtual_hosts=[
                    {
                        "name": "v",
                        "routes": [
                            {"route": {"cluster": "c"}},
                            {"route": {"weighted_clusters": {"clusters": [{"name": "w"}]}}},
                        ],
                    }
                ],
            ),
            {(CLUSTER, "c"), (CLUSTER, "w")},
            id="routes to clusters",
        ),
        pytest.param(
            scoped_route_pb2.ScopedRouteConfiguration(name="s", route_configuration_name="r"),
            {(ROUTES, "r")},
            id="scoped routes",
        ),
        pytest.param(
            cluster(
                "c",
                load_assignment={
                    "cluster_name": "c",
                    "endpoints": [
                        {
                            "lb_endpoints": [
                                {
                                    "endpoint": {
                                        "address": {
                                            "envoy_internal_address": {"server_listener_name": "i"}
                                        }
                                    }
                                }
                            ]
                        }
                    ],
                },
            ),
            {(LISTENER, "i")},
            id="an internal listener",
        ),
        pytest.param(
            message(identify.listener({"10.0.0.1": "shop/cart"})),
            {(CLUSTER, "*|shop/cart")},
            id="one account's clusters of any link",
        ),
        pytest.param(
            message(egress.outbound(OUTBOUND, "127.0.0.1")),
            {(CLUSTER, "identify"), (CLUSTER, "west:tcp|*")},
            id="one link's clusters of any account",
        ),
        pytest.param(
            message(egress.table("west", {"10.0.0.1": "shop/cart"})),
            {
                (CLUSTER, "west|shop/cart"),
                *((CLUSTER, room("west", one)) for one in range(1, late.ROOMS + 1)),
            },
            id="a table of callers",
        ),
        pytest.param(
            listener("l", http_pb2.HttpConnectionManager(scoped_routes={"scoped_rds": {}})),
            {(SCOPED_ROUTES, "*")},
            id="scoped routes, whatever they are",
        ),
    ],
)
def test_references_are_read_from_the_message(
    found: Message, expected: set[tuple[str, str]]
) -> None:
    assert references(resource(found)) == {Reference(*one) for one in expected}


def test_a_snapshot_without_gaps_has_nothing_dangling() -> None:
    assert taken(cluster("c"), listener("l", tcp_proxy_pb2.TcpProxy(cluster="c"))) == []


def test_what_is_missing_is_named() -> None:
    assert taken(listener("l", tcp_proxy_pb2.TcpProxy(cluster="c"))) == [
        "Listener 'l' refers to Cluster 'c', which is not there"
    ]


def test_what_stayed_the_same_is_shared() -> None:
    first = snapshot(together([resource(cluster("a")), resource(listener("l"))]))
    changed = cluster("b")
    second = snapshot(
        together([resource(cluster("a")), resource(changed), resource(listener("l"))]), first
    )
    assert second.of(LISTENER) is first.of(LISTENER)
    assert second.of(CLUSTER)["a"] is first.of(CLUSTER)["a"]
    assert set(second.of(CLUSTER)) == {"a", "b"}


def test_the_same_content_is_the_same_version_and_another_content_another() -> None:
    first = snapshot(together([resource(cluster("a"))]))
    changed = snapshot(together([resource(cluster("a", alt_stat_name="x"))]), first)
    back = snapshot(together([resource(cluster("a"))]), changed)
    assert back.of(CLUSTER)["a"].version == first.of(CLUSTER)["a"].version
    assert changed.of(CLUSTER)["a"].version != first.of(CLUSTER)["a"].version
