"""What an Envoy is told before it can ask: who it is, whom to ask, and what it must never do.

Everything else comes from the controller. The files named here lie in the proxy's own directory,
which is where Envoy runs: its launcher keeps them, and Envoy notices when one is replaced.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.metrics.v3 import stats_pb2
from envoy.config.overload.v3 import overload_pb2
from envoy.extensions.bootstrap.internal_listener.v3 import internal_listener_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.connection_limit.v3 import connection_limit_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.resource_monitors.downstream_connections.v3 import (
    downstream_connections_pb2,
)
from envoy.extensions.resource_monitors.fixed_heap.v3 import fixed_heap_pb2
from google.protobuf import json_format

from isthmus.xds import tls
from isthmus.xds.names import ANCHORS_FILE, OWN_FILE
from isthmus.xds.placed import EVERYWHERE
from isthmus.xds.resources import extension
from isthmus.xds.upstream import TCP_KEEPALIVE, socket_address, speaking

ADMIN_SOCKET = "./admin.sock"
CONTROLLER = "controller"
ADDRESS = "address"  # what the proxy's metadata calls the one that it listens at
PAGES = ("/ready", "/stats/prometheus")  # of the admin interface, and nothing else of it

MIB = 1024 * 1024

# Without its first clusters and listeners a proxy serves nobody: until it has been told them,
# however long that takes, it is not ready, and whoever sends callers to it knows.
PATIENT = {**tls.ADS, "initial_fetch_timeout": {"seconds": 0}}

# Nothing can be changed while Envoy runs; and a caller that opens streams only to reset them is
# hung up on sooner than by default.
RUNTIME = {
    "name": "fixed",
    "static_layer": {
        "overload.premature_reset_total_stream_count": 200,
        "overload.premature_reset_min_stream_lifetime_seconds": 1,
    },
}
READERS = 64  # connections to the pages at a time

# How names of statistics become labels; see isthmus.xds.gateway and isthmus.xds.egress. Of each
# expression the outer group leaves the name, and the inner one is the label's value. Each begins
# with a word and a dot where it can: Envoy tries it on no other names, and to try all on all is
# half of the work of taking in thousands of ports.
_OUT = (r"^tcp\.out\|", r"^http\.out\|")
LABELS = {
    "direction": (r"^cluster\.((in|out)\|)", r"^tcp\.((out)\|)", r"^http\.((out)\|)"),
    "link": (
        *(rf"^{kind}\.out\|(([^|.]+)\.)" for kind in ("cluster", "http")),
        *(rf"{out}(([^|.]+)\|)" for out in _OUT),
    ),
    "namespace": (r"^cluster\.in\|(([^|.]+)\|)", *(rf"{out}[^|.]+\|(([^|.]+)\|)" for out in _OUT)),
    "service": (
        r"^cluster\.in\|[^|.]+\|(([^|.]+)\.)",
        *(rf"{out}[^|.]+\|[^|.]+\|(([^|.]+)\.)" for out in _OUT),
    ),
    "status_class": (r"_rq(_([1-5]xx))$",),
}

# All that is counted; docs/metrics.md says what for. Envoy could count hundreds of things about
# every exported port, which would be most of its memory and more than anybody can scrape; and some
# under names that hold an account's, or whatever code an application answers with.
_DOWN = r"downstream_(?:cx_(?:active|total|[rt]x_bytes_total)|rq_(?:[1-5]xx|active|time|total))"
_UP = (
    r"upstream_(?:cx_(?:active|connect_fail|none_healthy|total|[rt]x_bytes_total)"
    r"|rq_(?:[1-5]xx|active|retry|rx_reset|time|total))"
)
_STRANGERS = r"ssl\.(?:connection_error|fail_verify_(?:error|no_cert|san)|handshake)"
COUNTED = (
    rf"cluster\.(?:catalogue|controller|(?:in|out)\|[^.]+)\.(?:{_UP}|{_STRANGERS})",
    r"cluster\.identify\.upstream_cx_connect_attempts_exceeded",
    rf"tcp\.(?:tunnels|out\|[^.]+)\.(?:{_DOWN}|downstream_cx_no_route)",
    rf"http\.(?:gateway|out\|[^|.]+\|[^.]+)\.(?:{_DOWN}|no_cluster)",
    r"http\.gateway\.(?:no_route|rbac\.(?:allowed|denied))",
    r"http\.out\|[^|.]+\.no_cluster",
    r"listener\.[^|]+\.downstream_cx_active",  # how a drain knows that all have left
    rf"listener\.(?:doors|gateway|out)"
    rf"\.(?:downstream_cx_(?:overload_reject|total)|no_filter_chain_match|{_STRANGERS})",
    r"listener\.gateway\.ssl\.certificate\.(?:anchors|own)\.expiration_unix_time_seconds",
    r"connection_limit\.(?:gateway|tunnels)\.limited_connections",
    r"(?:cluster_manager|listener_manager|control_plane|overload|server)\..+",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """One Envoy: what it is, whom it asks, and how much it may use."""

    name: str
    role: Literal["gateway", "egress"]
    cluster: str  # the Kubernetes cluster that it belongs to
    controller: tuple[str, int]  # where configuration is served
    controller_identity: str  # the SPIFFE ID that proves it
    address: str = EVERYWHERE  # where it listens
    metrics: tuple[str, int] = ("0.0.0.0", 9991)
    heap: int = 1024 * MIB
    connections: int = 50_000


def bootstrap(proxy: Proxy) -> bytes:
    """Return the configuration that Envoy starts with, as JSON."""
    ads = {
        "api_type": "DELTA_GRPC",
        "transport_api_version": "V3",
        "grpc_services": [{"envoy_grpc": {"cluster_name": CONTROLLER}}],
    }
    message = bootstrap_pb2.Bootstrap(
        node={
            "id": proxy.name,
            "cluster": f"{proxy.cluster}/{proxy.role}",
            "metadata": {ADDRESS: proxy.address},
        },
        admin={"address": {"pipe": {"path": ADMIN_SOCKET, "mode": 0o600}}},
        dynamic_resources={"ads_config": ads, "lds_config": PATIENT, "cds_config": PATIENT},
        static_resources={
            "clusters": [_controller(proxy), _admin()],
            "listeners": [_pages(*proxy.metrics)],
        },
        stats_config=_statistics(),
        overload_manager=_limits(proxy),
        layered_runtime={"layers": [RUNTIME]},
        bootstrap_extensions=[
            extension("envoy.bootstrap.internal_listener", internal_listener_pb2.InternalListener())
        ],
        deferred_stat_options={"enable_deferred_creation_stats": True},
    )
    return str.encode(json_format.MessageToJson(message, preserving_proto_field_name=True))


def _controller(proxy: Proxy) -> cluster_pb2.Cluster:
    host, port = proxy.controller
    place = {"endpoint": {"address": socket_address(host, port)}}
    keepalive = {"interval": {"seconds": 10}, "timeout": {"seconds": 10}}
    return cluster_pb2.Cluster(
        name=CONTROLLER,
        type="STATIC" if is_address(host) else "STRICT_DNS",
        connect_timeout={"seconds": 5},
        load_assignment={
            "cluster_name": CONTROLLER,
            "endpoints": [{"lb_endpoints": [place]}],
        },
        upstream_connection_options={"tcp_keepalive": TCP_KEEPALIVE},
        transport_socket=tls.called(
            tls.own_secret(OWN_FILE),
            proxy.controller_identity,
            ["h2"],
            tls.anchors_in(ANCHORS_FILE),
        ),
        typed_extension_protocol_options=speaking(
            http2_protocol_options={"connection_keepalive": keepalive}
        ),
    )


def _admin() -> cluster_pb2.Cluster:
    place = {"endpoint": {"address": {"pipe": {"path": ADMIN_SOCKET}}}}
    return cluster_pb2.Cluster(
        name="admin",
        type="STATIC",
        connect_timeout={"seconds": 1},
        load_assignment={"cluster_name": "admin", "endpoints": [{"lb_endpoints": [place]}]},
    )


def _pages(address: str, port: int) -> listener_pb2.Listener:
    """Serve what a cluster may read of the admin interface; the rest of it can stop a proxy."""
    get = {"name": ":method", "string_match": {"exact": "GET"}}
    routes = [
        {"match": {"path": path, "headers": [get]}, "route": {"cluster": "admin"}} for path in PAGES
    ]
    manager = http_connection_manager_pb2.HttpConnectionManager(
        stat_prefix="pages",
        route_config={
            "name": "pages",
            "virtual_hosts": [{"name": "pages", "domains": ["*"], "routes": routes}],
        },
        http_filters=[extension("envoy.filters.http.router", router_pb2.Router())],
        common_http_protocol_options={"idle_timeout": {"seconds": 60}},
        request_headers_timeout={"seconds": 5},
    )
    handler = extension("envoy.filters.network.http_connection_manager", manager)
    few = connection_limit_pb2.ConnectionLimit(
        stat_prefix="pages", max_connections={"value": READERS}
    )
    return listener_pb2.Listener(
        name="pages",
        stat_prefix="pages",
        address=socket_address(address, port),
        enable_reuse_port={"value": False},  # two proxies at one port would hide a mistake
        filter_chains=[
            {"filters": [extension("envoy.filters.network.connection_limit", few), handler]}
        ],
        # Whoever looks after a proxy must see it in trouble, too.
        ignore_global_conn_limit=True,
        bypass_overload_manager=True,
    )


def _statistics() -> stats_pb2.StatsConfig:
    return stats_pb2.StatsConfig(
        use_all_default_tags={"value": False},
        stats_tags=[
            {"tag_name": f"isthmus_{name}", "regex": regex}
            for name, regexes in LABELS.items()
            for regex in regexes
        ],
        stats_matcher={
            "inclusion_list": {"patterns": [{"safe_regex": {"regex": one}} for one in COUNTED]}
        },
    )


def _limits(proxy: Proxy) -> overload_pb2.OverloadManager:
    """Turn the latest callers away before the kernel ends the proxy with all of them."""
    heap = "envoy.resource_monitors.fixed_heap"
    connections = "envoy.resource_monitors.global_downstream_max_connections"

    def above(share: float) -> list[dict[str, object]]:
        return [{"name": heap, "threshold": {"value": share}}]

    return overload_pb2.OverloadManager(
        refresh_interval={"nanos": 250_000_000},
        resource_monitors=[
            extension(heap, fixed_heap_pb2.FixedHeapConfig(max_heap_size_bytes=proxy.heap)),
            extension(
                connections,
                downstream_connections_pb2.DownstreamConnectionsConfig(
                    max_active_downstream_connections=proxy.connections
                ),
            ),
        ],
        actions=[
            {"name": "envoy.overload_actions.shrink_heap", "triggers": above(0.9)},
            {"name": "envoy.overload_actions.stop_accepting_requests", "triggers": above(0.95)},
            {"name": "envoy.overload_actions.stop_accepting_connections", "triggers": above(0.98)},
        ],
    )


def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
