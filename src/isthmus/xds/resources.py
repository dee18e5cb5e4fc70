"""What Envoy is told, one resource at a time, as it goes over the wire.

A resource is serialised where it is built, always the same way, so that equal input has an equal
version wherever and whenever it is built: what did not change need not be sent again. Holding
bytes instead of messages also keeps private keys out of whatever prints a resource.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType

from google.protobuf import any_pb2
from google.protobuf.message import Message

from isthmus.model.errors import Permanent

TYPE = "type.googleapis.com/"
CLUSTER = TYPE + "envoy.config.cluster.v3.Cluster"
ENDPOINTS = TYPE + "envoy.config.endpoint.v3.ClusterLoadAssignment"
SECRET = TYPE + "envoy.extensions.transport_sockets.tls.v3.Secret"
LISTENER = TYPE + "envoy.config.listener.v3.Listener"
ROUTES = TYPE + "envoy.config.route.v3.RouteConfiguration"
SCOPED_ROUTES = TYPE + "envoy.config.route.v3.ScopedRouteConfiguration"


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of one type, under a name that is unique among those of its type."""

    type_url: str
    name: str
    version: str  # says what is inside, and nothing else
    value: bytes = field(repr=False)  # may hold a private key

    @property
    def packed(self) -> any_pb2.Any:
        return any_pb2.Any(type_url=self.type_url, value=self.value)


# By type URL, then by name.
Resources = Mapping[str, Mapping[str, Resource]]


class Clash(Permanent):
    """Two different resources claim one name, so neither can be believed."""


def resource(message: Message) -> Resource:
    """Serialise one message, in the one way that depends on nothing but its content."""
    value = message.SerializeToString(deterministic=True)
    return Resource(
        type_url=TYPE + message.DESCRIPTOR.full_name,
        name=_name(message),
        version=sha256(value).hexdigest()[:16],
        value=value,
    )


def together(found: Iterable[Resource]) -> Resources:
    """Sort resources by type and name."""
    result: dict[str, dict[str, Resource]] = {}
    for one in found:
        known = result.setdefault(one.type_url, {}).setdefault(one.name, one)
        if known.version != one.version:
            kind = one.type_url.rpartition(".")[2]
            raise Clash(f"two different resources {kind} are called {one.name!r}; rename one")
    return MappingProxyType(
        {kind: MappingProxyType(dict(sorted(of.items()))) for kind, of in sorted(result.items())}
    )


def typed(message: Message) -> any_pb2.Any:
    """Pack a message that configures an extension."""
    return any_pb2.Any(
        type_url=TYPE + message.DESCRIPTOR.full_name,
        value=message.SerializeToString(deterministic=True),
    )


def extension(name: str, message: Message) -> dict[str, object]:
    """Say which extension to use and how, in the form that most of Envoy's fields take."""
    return {"name": name, "typed_config": typed(message)}


def _name(message: Message) -> str:
    # Endpoints are the one type that is named by another word.
    named = message.DESCRIPTOR.fields_by_name
    return str(message.name if "name" in named else message.cluster_name)
