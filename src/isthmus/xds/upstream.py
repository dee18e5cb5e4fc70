"""Where calls go next: clusters whose places come from the controller, and nowhere else."""

from collections.abc import Iterable, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.extensions.retry.host.previous_hosts.v3 import previous_hosts_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import any_pb2

from isthmus.model.routes import Place
from isthmus.xds.resources import Resource, extension, resource, typed
from isthmus.xds.tls import ADS

# Envoy's own limits (1,024 of everything) are meant for one service's calls, not a cluster's.
MANY = {"value": 100_000}
NO_LIMIT_THAT_BITES = {
    "thresholds": [
        {
            "max_connections": MANY,
            "max_pending_requests": MANY,
            "max_requests": MANY,
            "max_retries": {"value": 1_000},
        }
    ]
}

# Only what certainly never reached the application is tried again, somewhere else.
TWICE_MORE = {
    "retry_on": "connect-failure,refused-stream,reset-before-request",
    "num_retries": {"value": 2},
    "retry_host_predicate": [
        extension(
            "envoy.retry_host_predicates.previous_hosts",
            previous_hosts_pb2.PreviousHostsPredicate(),
        )
    ],
    "host_selection_retry_max_attempts": 3,
}

# A machine that vanished sends no FIN: the kernel asks, since no idle timeout ends a connection.
TCP_KEEPALIVE = {
    "keepalive_probes": {"value": 3},
    "keepalive_time": {"value": 60},
    "keepalive_interval": {"value": 10},
}

# The same for those who connect to us, by the numbers that Linux has for SO_KEEPALIVE and
# TCP_KEEPIDLE, _INTVL and _CNT: a connection has the options of the listener that took it in.
KEEPALIVE = [
    {"level": level, "name": name, "int_value": value}
    for level, name, value in ((1, 9, 1), (6, 4, 60), (6, 5, 10), (6, 6, 3))
]


def cluster(
    name: str, statistics: str, options: Mapping[str, object], places: str = ""
) -> Resource:
    """Build a cluster; ``places`` names its endpoints where they are not called like itself."""
    return resource(
        cluster_pb2.Cluster(
            name=name,
            alt_stat_name=statistics,
            type="EDS",
            eds_cluster_config={"eds_config": ADS, "service_name": places},
            connect_timeout={"seconds": 3},
            lb_policy="LEAST_REQUEST",
            circuit_breakers=NO_LIMIT_THAT_BITES,
            ignore_health_on_host_removal=True,
            upstream_connection_options={"tcp_keepalive": TCP_KEEPALIVE},
            **options,
        )
    )


def endpoints(name: str, places: Iterable[Place]) -> Resource:
    """Say where a cluster answers; nowhere is an answer, too."""
    return resource(
        endpoint_pb2.ClusterLoadAssignment(
            cluster_name=name,
            endpoints=[
                {
                    "lb_endpoints": [
                        {"endpoint": {"address": socket_address(one.address, one.port)}}
                        for one in sorted(set(places), key=lambda one: (one.address, one.port))
                    ]
                }
            ],
        )
    )


def socket_address(address: str, port: int) -> dict[str, object]:
    return {"socket_address": {"address": address, "port_value": port}}


def speaking(idle: int = 3600, **explicit: object) -> dict[str, any_pb2.Any]:
    """Say which HTTP a cluster's places understand; ``idle`` seconds end an unused connection."""
    options = http_protocol_options_pb2.HttpProtocolOptions(
        common_http_protocol_options={"idle_timeout": {"seconds": idle}},
        explicit_http_config=explicit,
    )
    return {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(options)}
