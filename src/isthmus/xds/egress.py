"""The egress: plain connections of the cluster's pods in, mutual TLS to gateways out.

Every mirrored port has a listener of its own, and every call leaves under the certificate of the
calling pod's service account, which is known by the pod's address. Requests find it in the routes
of their link, where one table leads from addresses to clusters; connections find it in the internal
listener of :mod:`isthmus.xds.identify`. Neither table is part of a mirrored port's resources, so
pods come and go without touching a listener.

How things are called: a listener by its port, ``out|20001``; the cluster of a service account of a
link ``west|shop/cart`` for requests and ``west:tcp|shop/cart`` for connections, all of a link
counting in ``cluster.out|west.*``; a mirrored port's statistics ``tcp.`` or
``http.out|<link>|<namespace>|<service>.*``. Callers without an account are held for a moment and
then refused, see :mod:`isthmus.xds.late`.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.router.cluster_specifiers.matcher.v3 import matcher_pb2
from envoy.type.matcher.v3 import http_inputs_pb2

from isthmus.model.routes import EgressRoutes, Outbound, Peer
from isthmus.xds import identify, late, tls, tunnels, upstream
from isthmus.xds.http import (
    BUFFER,
    NEVER,
    OURS,
    ROUTES_FROM,
    SOURCE,
    connections,
    http2,
    without,
)
from isthmus.xds.names import DESTINATION, account_secret
from isthmus.xds.resources import Resource, Resources, extension, resource, together

# Passive health: a gateway that cannot be connected to is left alone for a while. What the
# application answers is never held against it. Absences are few and short, by account, and never of
# more than half of the gateways.
SHUN_THE_DEAD = {
    "split_external_local_origin_errors": True,
    "consecutive_local_origin_failure": {"value": 5},
    "enforcing_consecutive_local_origin_failure": {"value": 100},
    "enforcing_consecutive_5xx": {"value": 0},
    "enforcing_consecutive_gateway_failure": {"value": 0},
    "enforcing_success_rate": {"value": 0},
    "enforcing_local_origin_success_rate": {"value": 0},
    "interval": {"seconds": 2},
    "base_ejection_time": {"seconds": 5},
    "max_ejection_time": {"seconds": 10},
    "max_ejection_percent": {"value": 50},
}


def egress(routes: EgressRoutes, address: str) -> Resources:
    """Say everything that an egress at ``address`` needs, except secrets.

    A mirrored port whose gateways are not known yet is left out until they are.
    """
    linked = {one.link for one in routes.peers}
    return together(
        chain(
            identify.clusters(),
            (identify.listener(routes.callers),),
            chain.from_iterable(peer(one, routes.callers) for one in routes.peers),
            (outbound(one, address) for one in routes.outbound if one.link in linked),
        )
    )


def accounts(routes: EgressRoutes) -> frozenset[str]:
    """Return the service accounts whose certificates an egress needs."""
    return frozenset(routes.callers.values())


def outbound(one: Outbound, address: str) -> Resource:
    """Listen for one mirrored port."""
    name = f"out|{one.listener}"
    statistics = f"out|{one.link}|{one.namespace}|{one.service}"
    filters = (
        identify.handing_over(one.link, one.authority, statistics)
        if one.protocol == "tcp"
        else [_requests(one, statistics)]
    )
    return resource(
        listener_pb2.Listener(
            name=name,
            stat_prefix="out",
            address=upstream.socket_address(address, one.listener),
            per_connection_buffer_limit_bytes=BUFFER,
            socket_options=upstream.KEEPALIVE,
            filter_chains=[{"name": name, "filters": filters}],
        )
    )


def peer(one: Peer, callers: Mapping[str, str]) -> Iterator[Resource]:
    """Reach a linked cluster's gateways, under each of the callers' accounts."""
    yield upstream.endpoints(one.link, one.places)
    for account in sorted(set(callers.values())):
        yield reach(one, account)
        yield tunnel(one, account)
    yield from late.requests(one.link)
    yield table(one.link, callers)


def reach(one: Peer, account: str) -> Resource:
    """Reach a linked cluster's gateways with requests, under one account's certificate."""
    # Sooner than the gateway hangs up on its side, so that no call meets a closing door.
    speech = upstream.speaking(idle=300, http2_protocol_options=http2(interval=5, timeout=5))
    name = _cluster_name(one.link, account)
    return _reached(name, one, account, "h2", typed_extension_protocol_options=speech)


def tunnel(one: Peer, account: str) -> Resource:
    """Reach them with connections."""
    name = _cluster_name(identify.tunnels(one.link), account)
    return _reached(name, one, account, tunnels.PROTOCOL)


def _reached(name: str, one: Peer, account: str, protocol: str, **options: object) -> Resource:
    secret = tls.sent_secret(account_secret(account))
    return upstream.cluster(
        name,
        f"out|{one.link}",
        {
            "transport_socket": tls.called(secret, one.identity, [protocol]),
            "outlier_detection": SHUN_THE_DEAD,
            **options,
        },
        places=one.link,
    )


def _cluster_name(link: str, account: str) -> str:
    return f"{link}|{account}"


def _requests(one: Outbound, statistics: str) -> dict[str, object]:
    """Mark each request with where it comes from and where it is for.

    Nobody else can, because such marks are taken off first.
    """
    marks = [
        {
            "append": {
                "header": {"key": key, "value": value},
                "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
            }
        }
        for key, value in (
            (SOURCE, "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%"),
            (DESTINATION, one.authority),
        )
    ]
    early = header_mutation_pb2.HeaderMutation(mutations=[*without(OURS), *marks])
    return connections(
        statistics,
        [],
        rds={"route_config_name": one.link, "config_source": ROUTES_FROM},
        early_header_mutation_extensions=[
            extension("envoy.http.early_header_mutation.header_mutation", early)
        ],
        http_protocol_options={"accept_http_10": True, "default_host_for_http_10": one.service},
        http2_protocol_options={"allow_connect": True},
        common_http_protocol_options={"max_headers_count": {"value": 100}},
        max_request_headers_kb={"value": 60},
    )


def table(link: str, callers: Mapping[str, str]) -> Resource:
    """Lead every request of a known caller to the link, and others to where they are held."""
    route = {
        "inline_cluster_specifier_plugin": {"extension": _choice(link, callers)},
        "timeout": NEVER,
        "retry_policy": upstream.TWICE_MORE,
        "upgrade_configs": [{"upgrade_type": "websocket"}],
    }
    routes = [{"match": {"prefix": "/"}, "route": route}]
    return resource(
        route_pb2.RouteConfiguration(
            name=link,
            virtual_hosts=[{"name": link, "domains": ["*"], "routes": routes}],
        )
    )


def _choice(link: str, callers: Mapping[str, str]) -> dict[str, object]:
    """Choose by the address that the connection came from, as the listener has marked it.

    Envoy lets this plugin look at nothing but headers: one that looks at the connection's
    address itself crashes the proxy.
    """
    found = {
        account: {
            "action": extension(
                account, matcher_pb2.ClusterAction(cluster=_cluster_name(link, account))
            )
        }
        for account in set(callers.values())
    }
    unknown = late.choice(link)
    tree = {
        "input": extension(
            "source", http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=SOURCE)
        ),
        "exact_match_map": {"map": {one: found[account] for one, account in callers.items()}},
    }
    known = {"matcher_tree": tree, "on_no_match": {"matcher": unknown}}
    return extension(
        "envoy.router.cluster_specifier_plugin.matcher",
        matcher_pb2.MatcherClusterSpecifier(cluster_matcher=known if callers else unknown),
    )
