"""HTTP as both proxies speak it with each other and with the workloads.

The two proxies are one hop to an application: its Host, its own headers and its streams pass as
they are, however long they take. What names a caller, what steers a proxy, and what only makes
sense to a proxy is taken away at the first one it meets.
"""

from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)

from isthmus.xds.resources import extension
from isthmus.xds.tls import ADS

SOURCE = "isthmus-source"  # the address that a request came from
OURS = ("isthmus-", "x-envoy-")  # only proxies say these, and only to each other

# A reader that stalls holds back at most its own stream: all streams at their limit fit in the
# connection's window, so no tunnel waits for its neighbours.
STREAMS = 100
STREAM_WINDOW = 1 << 20
CONNECTION_WINDOW = STREAMS * STREAM_WINDOW

QUIET = {"seconds": 3600}  # after which a request with nothing to say in either direction ends
NEVER = {"seconds": 0}
BUFFER = {"value": 1 << 20}

# While Envoy takes in thousands of listeners, it hears of no routes. It waits for them longer than
# that takes, because a listener that has none turns its callers away.
ROUTES_FROM = {**ADS, "initial_fetch_timeout": {"seconds": 120}}


def http2(interval: int, timeout: int) -> dict[str, object]:
    """HTTP/2 between the proxies; a peer that answers no PING for ``timeout`` seconds is gone."""
    return {
        "max_concurrent_streams": {"value": STREAMS},
        "initial_stream_window_size": {"value": STREAM_WINDOW},
        "initial_connection_window_size": {"value": CONNECTION_WINDOW},
        "allow_connect": True,
        "connection_keepalive": {
            "interval": {"seconds": interval},
            "timeout": {"seconds": timeout},
        },
    }


def without(prefixes: tuple[str, ...]) -> list[dict[str, object]]:
    """Take away every request header that starts with one of these."""
    return [{"remove_on_match": {"key_matcher": {"prefix": one}}} for one in prefixes]


def connections(
    statistics: str, filters: list[dict[str, object]], **options: object
) -> dict[str, object]:
    """Treat a connection as HTTP."""
    router = extension("envoy.filters.http.router", router_pb2.Router(suppress_envoy_headers=True))
    return extension(
        "envoy.filters.network.http_connection_manager",
        http_connection_manager_pb2.HttpConnectionManager(
            stat_prefix=statistics,
            http_filters=[*filters, router],
            stream_idle_timeout=QUIET,
            request_headers_timeout={"seconds": 10},
            server_header_transformation="PASS_THROUGH",
            generate_request_id={"value": False},
            preserve_external_request_id=True,
            use_remote_address={"value": True},
            xff_num_trusted_hops=1,
            internal_address_config={},
            **options,
        ),
    )
