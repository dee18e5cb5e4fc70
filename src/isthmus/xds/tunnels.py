"""TCP between the proxies: a TLS connection for each one of a pod, and in it nothing but its bytes.

Streams of HTTP/2 could share connections, but do not end as TCP does: when a server hangs up before
its client, as most do, Envoy resets the stream, and whatever is still on its way is lost. TLS ends
each direction by itself.

A connection says by its server name which exported port it is for. Anybody on the way can read
that, so it is a hash. What it leads to is a door, a listener inside the gateway that nothing else
leads to, which knows the callers of this port and closes before all others.

How things are called: both the cluster that leads to a door and the door itself ``tunnel|<hash>``.
Statistics: all connections ``tcp.tunnels.*``, those for what is not exported in
``downstream_cx_no_route``; those of whom no Grant names, or not with such a certificate,
``listener.doors.no_filter_chain_match``.
"""

from hashlib import sha256

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.filters.network.connection_limit.v3 import connection_limit_pb2
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from google.protobuf import wrappers_pb2

from isthmus.model.routes import Callers, Inbound
from isthmus.xds import inside
from isthmus.xds.access import CALLER, learning
from isthmus.xds.http import BUFFER
from isthmus.xds.names import NOWHERE
from isthmus.xds.resources import Resource, extension, resource

PROTOCOL = "isthmus-tcp"  # as both sides call it while they agree on TLS
MOST = 40_000  # connections at a time
DOOR = "door"

# A pod that is gone before Kubernetes says so is passed over: each attempt may be for another one,
# and whoever was not there twice is left alone for a while.
ATTEMPTS = {"value": 8}
PAUSES = {"base_interval": {"nanos": 25_000_000}, "max_interval": {"nanos": 250_000_000}}
PASS_OVER = {
    "split_external_local_origin_errors": True,
    "consecutive_local_origin_failure": {"value": 2},
    "enforcing_consecutive_local_origin_failure": {"value": 100},
    "enforcing_consecutive_5xx": {"value": 0},
    "enforcing_consecutive_gateway_failure": {"value": 0},
    "enforcing_success_rate": {"value": 0},
    "enforcing_local_origin_success_rate": {"value": 0},
    "interval": {"seconds": 1},
    "base_ejection_time": {"seconds": 2},
    "max_ejection_time": {"seconds": 10},
    "max_ejection_percent": {"value": 50},
}


def server_name(authority: str) -> str:
    """Return by which name a connection asks for an exported port."""
    return sha256(authority.encode()).hexdigest()[:32]


def inspector() -> dict[str, object]:
    """Look into the first message of TLS, for what is asked for and as what."""
    found = tls_inspector_pb2.TlsInspector()
    return extension("envoy.filters.listener.tls_inspector", found)


def chain(tls: dict[str, object]) -> dict[str, object]:
    """Take in connections, learn who calls, and lead each to the door that it asks for."""
    few = connection_limit_pb2.ConnectionLimit(
        stat_prefix="tunnels", max_connections={"value": MOST}
    )
    way = {"envoy.tcp_proxy.cluster": _name("%REQUESTED_SERVER_NAME%")}
    return {
        "name": "tunnels",
        "filter_chain_match": {"application_protocols": [PROTOCOL]},
        "transport_socket": tls,
        "transport_socket_connect_timeout": {"seconds": 10},
        "filters": [
            extension("envoy.filters.network.connection_limit", few),
            inside.remember(way, "envoy.tcp_proxy.cluster"),
            learning(shared_with_upstream="ONCE"),
            inside.relay(
                stat_prefix="tunnels",
                cluster=NOWHERE,  # the state above says which one instead
                upstream_connect_mode="ON_DOWNSTREAM_TLS_HANDSHAKE",
                max_early_data_bytes={"value": 0},
            ),
        ],
    }


def way(one: Inbound) -> Resource:
    """Lead to the door of an exported port."""
    name = _name(server_name(one.authority))
    return resource(cluster_pb2.Cluster(alt_stat_name="tunnels", **inside.leading_to(name, name)))


def door(one: Inbound) -> Resource:
    """Let the callers of an exported port through to its pods.

    Who they are is not part of what they pass, so that a Grant which changes cuts nobody off.
    """
    onward = inside.relay(
        stat_prefix="doors",
        cluster=one.authority,
        max_connect_attempts=ATTEMPTS,
        backoff_options=PAUSES,
    )
    return resource(
        listener_pb2.Listener(
            name=_name(server_name(one.authority)),
            stat_prefix="doors",
            internal_listener={},
            per_connection_buffer_limit_bytes=BUFFER,
            filter_chains=[{"name": DOOR, "filters": [onward]}],
            filter_chain_matcher={"matcher_list": {"matchers": _granted(one.callers)}},
        )
    )


def _name(of: str) -> str:
    return f"tunnel|{of}"


def _granted(callers: Callers) -> list[dict[str, object]]:
    exact = [_called({"exact": one}) for one in sorted(callers.exact)]
    any_of = [
        {"and_matcher": {"predicate": [_called({"prefix": one}), _is_one_name()]}}
        for one in sorted(callers.prefixes)
    ]
    opened = extension(DOOR, wrappers_pb2.StringValue(value=DOOR))
    return [
        {"predicate": found, "on_match": {"action": opened}}
        for found in (exact + any_of or [_called({"exact": "nobody"})])
    ]


def _called(pattern: dict[str, str]) -> dict[str, object]:
    known = extension(CALLER, network_inputs_pb2.FilterStateInput(key=CALLER))
    return {"single_predicate": {"input": known, "value_match": pattern}}


def _is_one_name() -> dict[str, object]:
    return {"not_matcher": _called({"contains": ","})}
