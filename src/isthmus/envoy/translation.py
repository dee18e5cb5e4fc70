"""Between the messages of incremental xDS and the values that a session is fed with."""

from envoy.config.core.v3 import base_pb2
from envoy.service.discovery.v3 import discovery_pb2

from isthmus.envoy.bootstrap import ADDRESS, is_address
from isthmus.xds.placed import placed
from isthmus.xds.session import Asked, Said

LONGEST_MESSAGE = 2000  # characters of a refusal


def asked(request: discovery_pb2.DeltaDiscoveryRequest) -> Asked:
    refused = request.HasField("error_detail")
    return Asked(
        type_url=request.type_url,
        subscribe=tuple(request.resource_names_subscribe),
        unsubscribe=tuple(request.resource_names_unsubscribe),
        versions=dict(request.initial_resource_versions),
        nonce=request.response_nonce,
        error=request.error_detail.message[:LONGEST_MESSAGE] if refused else None,
    )


def address_of(node: base_pb2.Node) -> str:
    """Return where a proxy says that it listens; nothing if it says nothing that makes sense."""
    found = node.metadata.fields.get(ADDRESS)
    text = "" if found is None else found.string_value
    return text if is_address(text) else ""


def response(said: Said, address: str = "") -> discovery_pb2.DeltaDiscoveryResponse:
    """Say it to a proxy at ``address``."""
    return discovery_pb2.DeltaDiscoveryResponse(
        type_url=said.type_url,
        nonce=said.nonce,
        resources=[
            discovery_pb2.Resource(
                name=name, version=entry.version, resource=placed(entry.resource, address).packed
            )
            for name, entry in said.entries.items()
        ],
        removed_resources=said.removed,
    )
