"""Between the messages of incremental xDS and the values that a session is fed with."""

from envoy.service.discovery.v3 import discovery_pb2

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


def response(said: Said) -> discovery_pb2.DeltaDiscoveryResponse:
    return discovery_pb2.DeltaDiscoveryResponse(
        type_url=said.type_url,
        nonce=said.nonce,
        resources=[
            discovery_pb2.Resource(name=name, version=entry.version, resource=entry.resource.packed)
            for name, entry in said.entries.items()
        ],
        removed_resources=said.removed,
    )
