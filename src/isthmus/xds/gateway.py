"""The gateway: one port, mutual TLS, and exactly the exported ports behind it.

A request says in one header which exported port it is for; a connection says it by its server
name, see :mod:`isthmus.xds.tunnels`. Each port is one scope of routes, or one door, a resource of
its own that nothing else shares, so that a change of one service is a small message and cannot
touch another. A header or a name that is not known leads nowhere; nothing is derived from Host, and
no route forwards what it did not expect.

How things are called: the cluster, endpoints and scope of a port by its authority, its statistics
``cluster.in|<namespace>|<service>.*``; the connection manager's ``http.gateway.*``, where refusals
are ``no_route`` (not exported) and ``rbac.denied`` (not granted, or not to such a certificate); the
listener's ``listener.gateway.*``, where ``ssl.fail_verify_*`` and ``ssl.connection_error`` count
strangers.
"""

from collections.abc import Iterator
from itertools import chain

from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import scoped_route_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.network.connection_limit.v3 import connection_limit_pb2

from isthmus.model.routes import Callers, GatewayRoutes, Inbound
from isthmus.xds import access, tls, tunnels, upstream
from isthmus.xds.http import (
    BUFFER,
    NEVER,
    OURS,
    ROUTES_FROM,
    connections,
    http2,
    without,
)
from isthmus.xds.names import (
    CATALOGUE,
    CATALOGUE_HOST,
    CATALOGUE_PATH,
    DESTINATION,
    PROBE,
    PROBE_HOST,
    PROBE_PATH,
    Site,
)
from isthmus.xds.resources import Resource, Resources, extension, resource, together


def gateway(routes: GatewayRoutes, site: Site) -> Resources:
    """Say everything that a gateway needs, except the trust anchors."""
    return together(
        chain(
            (listener(site), probe()),
            catalogue(routes, site.own),
            chain.from_iterable(inbound(one) for one in routes.inbound),
        )
    )


def inbound(one: Inbound) -> tuple[Resource, ...]:
    """Serve one exported port: what belongs to it, and to nothing else."""
    is_tcp = one.protocol == "tcp"
    options = (
        {"outlier_detection": tunnels.PASS_OVER}
        if is_tcp
        else {"typed_extension_protocol_options": _speech(one)}
    )
    return (
        upstream.cluster(one.authority, f"in|{one.namespace}|{one.service}", options),
        upstream.endpoints(one.authority, one.places),
        *((tunnels.way(one), tunnels.door(one)) if is_tcp else (_requests(one),)),
    )


def catalogue(routes: GatewayRoutes, own: str) -> Iterator[Resource]:
    """Lead to the cluster's own controllers, if it is known whom they must prove to be."""
    if not routes.controller:
        return
    yield upstream.cluster(
        CATALOGUE,
        CATALOGUE,
        {
            "transport_socket": tls.called(tls.own_secret(own), routes.controller, ["http/1.1"]),
            "typed_extension_protocol_options": upstream.speaking(http_protocol_options={}),
        },
    )
    yield upstream.endpoints(CATALOGUE, routes.catalogue)
    yield _scope(
        CATALOGUE,
        CATALOGUE_HOST,
        {
            "match": {"path": CATALOGUE_PATH},
            "route": {"cluster": CATALOGUE, "timeout": NEVER},
        },
        routes.catalogue_callers,
    )


def probe() -> Resource:
    """Answer whoever has a certificate of the mesh, from the gateway itself."""
    return _scope(
        PROBE,
        PROBE_HOST,
        {"match": {"path": PROBE_PATH}, "direct_response": {"status": 200}},
        access.EVERYBODY,
    )


def listener(site: Site) -> Resource:
    """Open the one port."""
    requests = connections(
        "gateway",
        [
            access.refusing(),
            extension(
                "envoy.filters.http.header_mutation",
                header_mutation_pb2.HeaderMutation(mutations={"request_mutations": without(OURS)}),
            ),
        ],
        scoped_routes=_scopes(),
        # The egress appended its caller's address; ours would hide it.
        skip_xff_append=True,
        forward_client_cert_details="SANITIZE_SET",
        set_current_client_cert_details={"uri": True},
        http2_protocol_options=http2(interval=30, timeout=10),
        common_http_protocol_options={
            "idle_timeout": {"seconds": 600},
            # New streams move to a new connection, with today's certificate and to any of the
            # replicas; tunnels that are open stay until they end.
            "max_connection_duration": {"seconds": 3600},
            # More than the egress lets through, so that no request is cut off in between.
            "max_headers_count": {"value": 110},
            "headers_with_underscores_action": "REJECT_REQUEST",
        },
        max_request_headers_kb={"value": 64},
        normalize_path={"value": True},
        merge_slashes=True,
        path_with_escaped_slashes_action="REJECT_REQUEST",
    )
    secret = tls.own_secret(site.own)
    limit = connection_limit_pb2.ConnectionLimit(
        stat_prefix="gateway", max_connections={"value": 10_000}
    )
    return resource(
        listener_pb2.Listener(
            name="gateway",
            stat_prefix="gateway",
            address=upstream.socket_address(site.address, site.port),
            per_connection_buffer_limit_bytes=BUFFER,
            socket_options=upstream.KEEPALIVE,
            listener_filters=[tunnels.inspector()],
            listener_filters_timeout={"seconds": 10},
            filter_chains=[
                tunnels.chain(tls.served(secret, [tunnels.PROTOCOL])),
                {
                    "name": "gateway",
                    "transport_socket": tls.served(secret, ["h2", "http/1.1"]),
                    "transport_socket_connect_timeout": {"seconds": 10},
                    "filters": [
                        extension("envoy.filters.network.connection_limit", limit),
                        access.learning(),
                        requests,
                    ],
                },
            ],
        )
    )


def _scopes() -> dict[str, object]:
    extractor = {"name": DESTINATION, "index": 0}
    return {
        "name": "destinations",
        "scope_key_builder": {"fragments": [{"header_value_extractor": extractor}]},
        "scoped_rds": {"scoped_rds_config_source": ROUTES_FROM},
    }


def _requests(one: Inbound) -> Resource:
    """Carry requests, whatever Host the application gave them."""
    route = {
        "cluster": one.authority,
        "timeout": NEVER,
        "retry_policy": upstream.TWICE_MORE,
        "upgrade_configs": [{"upgrade_type": "websocket"}],
    }
    return _scope(one.authority, "*", {"match": {"prefix": "/"}, "route": route}, one.callers)


def _scope(name: str, host: str, route: dict[str, object], callers: Callers) -> Resource:
    allowed = {**route, "name": name, "typed_per_filter_config": access.allowing(callers)}
    return resource(
        scoped_route_pb2.ScopedRouteConfiguration(
            name=name,
            key={"fragments": [{"string_key": name}]},
            route_configuration={
                "name": name,
                "virtual_hosts": [{"name": name, "domains": [host], "routes": [allowed]}],
            },
        )
    )


def _speech(one: Inbound) -> dict[str, object]:
    if one.protocol == "http2":
        return upstream.speaking(http2_protocol_options={"allow_connect": True})
    return upstream.speaking(http_protocol_options={})
