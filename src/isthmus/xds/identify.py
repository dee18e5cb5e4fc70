"""The internal listener of an egress that turns a pod's address into its service account.

It is the one place that knows all pods, so a pod that comes or goes is one update, and one that
Envoy makes in place: the connections that run through it go on.
"""

from collections.abc import Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from google.protobuf import wrappers_pb2

from isthmus.xds import late
from isthmus.xds.http import BUFFER
from isthmus.xds.inside import leading_to, relay, remember
from isthmus.xds.names import LINK, NOWHERE
from isthmus.xds.resources import Resource, extension, resource
from isthmus.xds.tunnels import server_name

IDENTIFY = "identify"

# What an outer listener tells the inner one about a connection.
SOURCE = "isthmus.source"
TARGET = "isthmus.destination"


def clusters() -> tuple[Resource, ...]:
    """Lead from the outer listeners to the inner one, within Envoy."""
    return (resource(cluster_pb2.Cluster(**leading_to(IDENTIFY, IDENTIFY))),)


def tunnels(link: str) -> str:
    """Name what the connections of a link go through, of all accounts together."""
    return f"{link}:tcp"


def handing_over(link: str, authority: str, statistics: str) -> list[dict[str, object]]:
    """Hand a connection over to the inner listener, with all that it must know."""
    told = {
        SOURCE: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        TARGET: server_name(authority),
        LINK: tunnels(link),
    }
    return [
        remember(told, "envoy.hashable_string", shared_with_upstream="ONCE"),
        relay(
            stat_prefix=statistics,
            cluster=IDENTIFY,
            max_connect_attempts=late.ATTEMPTS,
            backoff_options=late.PAUSES,
        ),
    ]


def listener(callers: Mapping[str, str]) -> Resource:
    """Choose by the caller's address; who is not known has no chain, and tries again.

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
    """Go to the link's gateway under this account's certificate, and ask for the port by name."""
    chosen = {"envoy.tcp_proxy.cluster": f"%FILTER_STATE({LINK}:PLAIN)%|{account}"}
    asked = {"envoy.network.upstream_server_name": f"%FILTER_STATE({TARGET}:PLAIN)%"}
    return {
        "name": account,
        "filters": [
            *(remember(one, kind) for one in (chosen, asked) for kind in one),
            relay(
                stat_prefix=IDENTIFY,
                cluster=NOWHERE,  # the state above says which one instead
                max_connect_attempts={"value": 3},
            ),
        ],
    }
