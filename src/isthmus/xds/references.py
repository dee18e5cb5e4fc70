"""Which resources a resource refers to by name, read from the resource itself.

Whoever builds a resource need not say what it refers to a second time, and cannot forget to.
Where the name is put together while a connection is open, the reference is to all that it may be.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf import symbol_database
from google.protobuf.message import Message

from isthmus.xds.names import LINK, NOWHERE, is_room
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    TYPE,
    Resource,
)

ALL = "*"

_TCP = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
_SECRET_SOURCE = "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig"
_HTTP = "envoy.extensions.filters.network.http_connection_manager.v3"

# By message: the field that holds a name, and the type of what it names.
_FIELDS = {
    "envoy.config.core.v3.EnvoyInternalAddress": ("server_listener_name", LISTENER),
    "envoy.config.route.v3.RouteAction": ("cluster", CLUSTER),
    "envoy.config.route.v3.RouteAction.RequestMirrorPolicy": ("cluster", CLUSTER),
    "envoy.config.route.v3.ScopedRouteConfiguration": ("route_configuration_name", ROUTES),
    "envoy.config.route.v3.WeightedCluster.ClusterWeight": ("name", CLUSTER),
    _SECRET_SOURCE: ("name", SECRET),
    "envoy.extensions.router.cluster_specifiers.matcher.v3.ClusterAction": ("cluster", CLUSTER),
    f"{_HTTP}.Rds": ("route_config_name", ROUTES),
    _TCP: ("cluster", CLUSTER),
    f"{_TCP}.WeightedCluster.ClusterWeight": ("name", CLUSTER),
}


_STATE = "envoy.extensions.filters.common.set_filter_state.v3.FilterStateValue"
_COMMAND = re.compile(r"%[^%]+%")  # stands for what is known when a connection is there


class Reference(NamedTuple):
    """One resource among all; or, with an asterisk in its name, each that is called like this."""

    type_url: str
    name: str

    @property
    def is_wide(self) -> bool:
        return ALL in self.name


def families(cluster: str) -> tuple[str, ...]:
    """Return by which wide references a cluster is meant: those of its link and of its account."""
    link, found, account = cluster.partition("|")
    return (f"{link}|{ALL}", f"{ALL}|{account}") if found else ()


def references(resource: Resource) -> frozenset[Reference]:
    """Return what a resource, and everything inside it, refers to."""
    if resource.type_url in (ENDPOINTS, SECRET):
        return frozenset()
    return frozenset(_walk(_parsed(resource.type_url, resource.value)))


def _walk(message: Message) -> Iterator[Reference]:
    kind = message.DESCRIPTOR.full_name
    if kind == "google.protobuf.Any":
        yield from _walk(_parsed(message.type_url, message.value))
        return
    if kind == "envoy.config.cluster.v3.Cluster" and message.type == message.EDS:
        yield Reference(ENDPOINTS, message.eds_cluster_config.service_name or message.name)
    # A secret may also come from a file of the proxy; then it is not ours to send.
    if kind in _FIELDS and not (kind == _SECRET_SOURCE and not message.sds_config.HasField("ads")):
        field, type_url = _FIELDS[kind]
        name = getattr(message, field)
        if name and name != NOWHERE and not _is_circular(type_url, name):
            yield Reference(type_url, name)
    if kind == f"{_HTTP}.ScopedRds":
        yield Reference(SCOPED_ROUTES, ALL)
    if kind == _STATE:
        yield from _state(message)
    for part in _parts(message):
        yield from _walk(part)


def _is_circular(type_url: str, name: str) -> bool:
    """Tell whether what is named refers back to who names it, so that neither could go first.

    The way into a room does: routes name it that the room itself goes by.
    """
    return type_url == LISTENER and is_room(name)


def _state(message: Message) -> Iterator[Reference]:
    """Read the names of clusters that connections carry with them."""
    text = message.format_string.text_format_source.inline_string
    if message.object_key == "envoy.tcp_proxy.cluster":
        yield Reference(CLUSTER, _COMMAND.sub(ALL, text))
    elif message.object_key == LINK:
        yield Reference(CLUSTER, f"{text}|{ALL}")


def _parts(message: Message) -> Iterator[Message]:
    """Yield the messages directly inside."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            # Thousands of addresses lead to a few accounts: what is equal is read once.
            inside = (one for one in value.values() if isinstance(one, Message))
            yield from {one.SerializeToString(): one for one in inside}.values()
        elif isinstance(value, Message):
            yield value
        else:
            yield from value


def _parsed(type_url: str, value: bytes) -> Message:
    """Parse what somebody here has serialised, and whose type is therefore known."""
    return symbol_database.Default().GetSymbol(type_url.removeprefix(TYPE)).FromString(value)
