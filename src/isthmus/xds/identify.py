"""The internal listener of an egress that turns a pod's address into its service account.

It is the one place that knows all pods, so a pod that comes or goes is one update, and one that
Envoy makes in place: the connections that run through it go on.
"""

from collections.abc import Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.set_filter_state.v3 import set_filter_state_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from envoy.extensions.transport_sockets.internal_upstream.v3 import internal_upstream_pb2
from envoy.extensions.transport_sockets.raw_buffer.v3 import raw_buffer_pb2
from google.protobuf import wrappers_pb2

from isthmus.xds.http import BUFFER, DESTINATION, NEVER
from isthmus.xds.resources import Resource, extension, resource
from isthmus.xds.upstream import NO_LIMIT_THAT_BITES

IDENTIFY = "identify"
NOWHERE = "nowhere"

# What an outer listener tells the inner one about a connection.
SOURCE = "isthmus.source"
TARGET = "isthmus.destination"
LINK = "isthmus.link"


def clusters() -> tuple[Resource, ...]:
    """Lead from the outer listeners to the inner one, within Envoy, and from there nowhere."""
    plain = extension("envoy.transport_sockets.raw_buffer", raw_buffer_pb2.RawBuffer())
    inner = {"envoy_internal_address": {"server_listener_name": IDENTIFY}}
    identify = resource(
        cluster_pb2.Cluster(
            name=IDENTIFY,
            type="STATIC",
            connect_timeout={"seconds": 3},
            load_assignment={
                "cluster_name": IDENTIFY,
                "endpoints": [{"lb_endpoints": [{"endpoint": {"address": inner}}]}],
            },
            circuit_breakers=NO_LIMIT_THAT_BITES,
            transport_socket=extension(
                "envoy.transport_sockets.internal_upstream",
                internal_upstream_pb2.InternalUpstreamTransport(transport_socket=plain),
            ),
        )
    )
    return identify, resource(cluster_pb2.Cluster(name=NOWHERE, type="STATIC"))


def handing_over(link: str, authority: str, statistics: str) -> list[dict[str, object]]:
    """Hand a connection over to the inner listener, with all that it must know."""
    told = {
        SOURCE: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        TARGET: authority,
        LINK: link,
    }
    return [
        _remember(told, "envoy.hashable_string", shared_with_upstream="ONCE"),
        _relay(stat_prefix=statistics, cluster=IDENTIFY),
    ]


def listener(callers: Mapping[str, str]) -> Resource:
    """Choose by the caller's address; who is not known has no chain, and is closed.

    Envoy takes no listener without chains: while nobody is known, there is one for no address.
    """
    callers = callers or {NOWHERE: NOWHERE}
    accounts = sorted(set(callers.values()))
    return resource(
        listener_pb2.Listener(
            name=IDENTIFY,
            stat_prefix=IDENTIFY,
            internal_listener={},
            per_connection_buffer_limit_bytes=BUFFER,
            filter_chains=[_chain(account) for account in accounts],
            filter_chain_matcher=_choice(callers),
        )
    )


def _choice(callers: Mapping[str, str]) -> dict[str, object]:
    chains = {
        account: {"action": extension(account, wrappers_pb2.StringValue(value=account))}
        for account in set(callers.values())
    }
    return {
        "matcher_tree": {
            "input": extension(SOURCE, network_inputs_pb2.FilterStateInput(key=SOURCE)),
            "exact_match_map": {
                "map": {address: chains[account] for address, account in callers.items()}
            },
        }
    }


def _chain(account: str) -> dict[str, object]:
    """Ask the link's gateway for a tunnel, under this account's certificate."""
    chosen = {"envoy.tcp_proxy.cluster": f"%FILTER_STATE({LINK}:PLAIN)%|{account}"}
    tunnel = {
        "hostname": f"%FILTER_STATE({TARGET}:PLAIN)%",
        "headers_to_add": [
            {"header": {"key": DESTINATION, "value": f"%FILTER_STATE({TARGET}:PLAIN)%"}}
        ],
    }
    return {
        "name": account,
        "filters": [
            _remember(chosen, "envoy.tcp_proxy.cluster"),
            _relay(
                stat_prefix=IDENTIFY,
                cluster=NOWHERE,  # the state above says which one instead
                tunneling_config=tunnel,
                max_connect_attempts={"value": 3},
            ),
        ],
    }


def _relay(**options: object) -> dict[str, object]:
    """Relay bytes for as long as both ends want it, as a direct connection would."""
    return extension(
        "envoy.filters.network.tcp_proxy", tcp_proxy_pb2.TcpProxy(idle_timeout=NEVER, **options)
    )


def _remember(values: Mapping[str, str], kind: str, **options: object) -> dict[str, object]:
    return extension(
        "envoy.filters.network.set_filter_state",
        set_filter_state_pb2.Config(
            on_new_connection=[
                {
                    "object_key": key,
                    "factory_key": kind,
                    "format_string": {"text_format_source": {"inline_string": value}},
                    **options,
                }
                for key, value in values.items()
            ]
        ),
    )
