"""Connections within one Envoy: from one of its listeners to another, with what the first knows."""

from collections.abc import Mapping

from envoy.extensions.filters.network.set_filter_state.v3 import set_filter_state_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.transport_sockets.internal_upstream.v3 import internal_upstream_pb2
from envoy.extensions.transport_sockets.raw_buffer.v3 import raw_buffer_pb2

from isthmus.xds.http import NEVER
from isthmus.xds.resources import extension
from isthmus.xds.upstream import NO_LIMIT_THAT_BITES


def leading_to(listener: str, name: str) -> dict[str, object]:
    """Say of a cluster that it leads to an inner listener, with all that the outer one shares."""
    place = {"envoy_internal_address": {"server_listener_name": listener}}
    plain = extension("envoy.transport_sockets.raw_buffer", raw_buffer_pb2.RawBuffer())
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": {"seconds": 3},
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": place}}]}],
        },
        "circuit_breakers": NO_LIMIT_THAT_BITES,
        "transport_socket": extension(
            "envoy.transport_sockets.internal_upstream",
            internal_upstream_pb2.InternalUpstreamTransport(transport_socket=plain),
        ),
    }


def relay(**options: object) -> dict[str, object]:
    """Relay bytes for as long as both ends want it, as a direct connection would."""
    return extension(
        "envoy.filters.network.tcp_proxy", tcp_proxy_pb2.TcpProxy(idle_timeout=NEVER, **options)
    )


def remember(values: Mapping[str, str], kind: str, **options: object) -> dict[str, object]:
    """Note something about a connection, from its beginning on."""
    return extension(
        "envoy.filters.network.set_filter_state",
        set_filter_state_pb2.Config(
            on_new_connection=[value(key, kind, text, **options) for key, text in values.items()]
        ),
    )


def value(key: str, kind: str, text: str, **options: object) -> dict[str, object]:
    return {
        "object_key": key,
        "factory_key": kind,
        "format_string": {"text_format_source": {"inline_string": text}},
        **options,
    }
