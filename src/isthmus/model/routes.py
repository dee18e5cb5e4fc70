"""What the proxies carry: between what Kubernetes says and what Envoy is told.

The core decides these values; :mod:`isthmus.xds` says them in Envoy's language.
"""

from collections.abc import Mapping
from typing import Literal

from isthmus.model.objects import Value

# What a port's traffic is treated as: bytes, HTTP/1.1 requests, or HTTP/2 requests (gRPC too).
Protocol = Literal["tcp", "http", "http2"]


class Place(Value, frozen=True, kw_only=True):
    """Where something answers."""

    address: str
    port: int


class Callers(Value, frozen=True, kw_only=True):
    """Who may call, by SPIFFE ID: one of these, or any that starts with one of those.

    Nobody at all unless something is said.
    """

    exact: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


class Inbound(Value, frozen=True, kw_only=True):
    """One port of an export, or of one of its named pods, as the gateway serves it."""

    authority: str  # nginx-set-0.nginx-svc.default.svc.west.cluster.local:80
    namespace: str
    service: str
    protocol: Protocol
    places: tuple[Place, ...] = ()  # of the pods, sorted
    callers: Callers = Callers()


class GatewayRoutes(Value, frozen=True, kw_only=True):
    """Everything a gateway lets through."""

    inbound: tuple[Inbound, ...] = ()
    catalogue: tuple[Place, ...] = ()  # where the cluster's own controllers serve it
    catalogue_callers: Callers = Callers()
    controller: str = ""  # the SPIFFE ID of the controllers


class Outbound(Value, frozen=True, kw_only=True):
    """One mirrored port, as the egress serves it."""

    listener: int
    link: str
    authority: str  # by which the target's gateway knows it
    namespace: str
    service: str  # of the mirror
    protocol: Protocol


class Peer(Value, frozen=True, kw_only=True):
    """The gateways of a linked cluster."""

    link: str
    places: tuple[Place, ...]
    identity: str  # the SPIFFE ID that they must prove


class EgressRoutes(Value, frozen=True, kw_only=True):
    """Everything an egress carries. ``callers`` maps a pod's address to "namespace/account"."""

    outbound: tuple[Outbound, ...] = ()
    peers: tuple[Peer, ...] = ()
    callers: Mapping[str, str] = {}
