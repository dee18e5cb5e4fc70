"""Callers whose address is not known yet are kept waiting for a moment instead of being refused.

A pod may call as soon as it runs, and nobody knows its address before its kubelet has told the API
server, which can take a second. Whoever becomes known meanwhile is served as who it is; whoever
does not is refused, and counted once.

A connection is led to the inner listener again and again. A request keeps the routes that it once
met, so it walks through rooms instead, internal listeners of its link: each holds it for a while
and sends it to the next, where it meets the routes as they are by then. The rooms have numbers, and
lead to higher ones only. A request is sent to a gateway once, with all of its body, whatever its
method is; nothing of it is kept in memory meanwhile but what fits into a window.

How things are called: both a room and the cluster that leads to it ``west:late-1``. Statistics:
requests that are refused in the end ``http.out|<link>.no_cluster``, connections
``cluster.identify.upstream_cx_connect_attempts_exceeded``.
"""

from collections.abc import Iterator

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.http.fault.v3 import fault_pb2
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.router.cluster_specifiers.matcher.v3 import matcher_pb2
from envoy.type.matcher.v3 import http_inputs_pb2

from isthmus.xds.http import BUFFER, ROUTES_FROM, connections, http2
from isthmus.xds.inside import leading_to
from isthmus.xds.names import NOWHERE, room
from isthmus.xds.resources import Resource, extension, resource
from isthmus.xds.upstream import speaking

# Seconds that a request is held in each room but the last: three in all. Every room is one more hop
# for all that a request carries from then on, so there are few.
HOLDS = (0.1, 0.2, 0.4, 0.8, 1.5)
ROOMS = len(HOLDS) + 1
ROOM = "isthmus-room"  # where a request is; the number of the room, if it is in one

# The same for connections: Envoy pauses for anything between nothing and an interval that doubles
# up to the longest, so this takes three seconds, give or take one.
ATTEMPTS = {"value": 28}
PAUSES = {"base_interval": {"nanos": 25_000_000}, "max_interval": {"nanos": 250_000_000}}


def requests(link: str) -> Iterator[Resource]:
    """Hold the requests of a link's unknown callers, and look again who they are."""
    for number in range(1, ROOMS + 1):
        yield _way(link, number)
        yield _room(link, number)


def choice(link: str) -> dict[str, object]:
    """Lead a request of an unknown caller to the next room, and from the last one nowhere."""
    following = {str(number): _to(room(link, number + 1)) for number in range(1, ROOMS)}
    return {
        "matcher_tree": {
            "input": extension(
                "room", http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=ROOM)
            ),
            "exact_match_map": {
                "map": {
                    number: {"action": action}
                    for number, action in {**following, str(ROOMS): _to(NOWHERE)}.items()
                }
            },
        },
        "on_no_match": {"action": _to(room(link, 1))},
    }


def _way(link: str, number: int) -> Resource:
    name = room(link, number)
    speech = speaking(idle=60, http2_protocol_options=http2(interval=30, timeout=10))
    return resource(
        cluster_pb2.Cluster(typed_extension_protocol_options=speech, **leading_to(name, name))
    )


def _room(link: str, number: int) -> Resource:
    name = room(link, number)
    manager = connections(
        f"out|{link}",
        [_hold(room(link, number + 1), seconds) for seconds in HOLDS[number - 1 : number]],
        rds={"route_config_name": link, "config_source": ROUTES_FROM},
        early_header_mutation_extensions=[_numbered(number)],
        # The outer listener appended its caller's address; ours would hide it.
        skip_xff_append=True,
        http2_protocol_options=http2(interval=30, timeout=10),
        # More than the outer listener lets through.
        common_http_protocol_options={"max_headers_count": {"value": 110}},
        max_request_headers_kb={"value": 64},
    )
    return resource(
        listener_pb2.Listener(
            name=name,
            stat_prefix="late",
            internal_listener={},
            per_connection_buffer_limit_bytes=BUFFER,
            filter_chains=[{"name": name, "filters": [manager]}],
        )
    )


def _numbered(number: int) -> dict[str, object]:
    mark = {
        "header": {"key": ROOM, "value": str(number)},
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
    }
    return extension(
        "envoy.http.early_header_mutation.header_mutation",
        header_mutation_pb2.HeaderMutation(mutations=[{"append": mark}]),
    )


def _hold(following: str, seconds: float) -> dict[str, object]:
    """Hold whoever has to go on to the next room; who is known by now passes at once."""
    return extension(
        "envoy.filters.http.fault",
        fault_pb2.HTTPFault(
            upstream_cluster=following,
            delay={
                "fixed_delay": {"seconds": int(seconds), "nanos": round(seconds % 1 * 1e9)},
                "percentage": {"numerator": 100},
            },
        ),
    )


def _to(cluster: str) -> dict[str, object]:
    return extension(cluster, matcher_pb2.ClusterAction(cluster=cluster))
