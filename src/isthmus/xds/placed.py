"""Where a proxy listens, which only the proxy itself knows.

All proxies of a role are told the same. In a network of its own a proxy listens at every address;
one that shares a machine with others says which address is its own, and hears that one instead.
"""

from dataclasses import replace

from envoy.config.listener.v3 import listener_pb2

from isthmus.xds.resources import LISTENER, Resource

EVERYWHERE = "0.0.0.0"


def placed(resource: Resource, address: str) -> Resource:
    """Return what a proxy at ``address`` is told in place of ``resource``, in the same version."""
    if resource.type_url != LISTENER or address in ("", EVERYWHERE):
        return resource
    listener = listener_pb2.Listener.FromString(resource.value)
    if listener.address.socket_address.address != EVERYWHERE:
        return resource
    listener.address.socket_address.address = address
    return replace(resource, value=listener.SerializeToString(deterministic=True))
