"""Routes for tests: two clusters of the tutorial's kind, and any others."""

from collections.abc import Iterable
from itertools import chain

from hypothesis import strategies as st

from isthmus.model.routes import (
    Callers,
    EgressRoutes,
    GatewayRoutes,
    Inbound,
    Outbound,
    Peer,
    Place,
    Protocol,
)
from isthmus.pki.keys import chain_pem
from isthmus.xds import secrets
from isthmus.xds.egress import accounts, egress
from isthmus.xds.gateway import gateway
from isthmus.xds.names import Site
from isthmus.xds.resources import Resource, Resources, together
from tests.support import pki

SITE = Site(address="203.0.113.9", own="/run/isthmus/own.yaml")
EGRESS_ADDRESS = "10.1.0.9"


def flat(resources: Resources) -> Iterable[Resource]:
    return chain.from_iterable(named.values() for named in resources.values())


def whole_gateway(routes: GatewayRoutes, site: Site = SITE) -> Resources:
    """What a gateway is told, secrets included."""
    shown = pki.credentials(pki.identity("west", "gateway"))
    own = secrets.own(shown.chain_pem, shown.key_pem)
    return together([*flat(gateway(routes, site)), anchors(), own])


def whole_egress(routes: EgressRoutes) -> Resources:
    """What an egress is told, secrets included."""
    shown = pki.credentials(pki.identity("east"))
    certificates = (
        secrets.account(one, shown.chain_pem, shown.key_pem) for one in accounts(routes)
    )
    return together([*flat(egress(routes, EGRESS_ADDRESS)), anchors(), *certificates])


def anchors() -> Resource:
    return secrets.anchors(chain_pem(pki.anchor().certificate))


def inbound(
    service: str = "web", protocol: Protocol = "tcp", pod: str = "", callers: Callers | None = None
) -> Inbound:
    host = f"{pod}.{service}" if pod else service
    return Inbound(
        authority=f"{host}.default.svc.west.cluster.local:80",
        namespace="default",
        service=service,
        protocol=protocol,
        places=(Place(address="10.2.0.1", port=8080), Place(address="10.2.0.2", port=8080)),
        callers=callers or Callers(prefixes=("spiffe://east.isthmus/",)),
    )


def outbound(listener: int = 20_001, service: str = "web", protocol: Protocol = "tcp") -> Outbound:
    return Outbound(
        listener=listener,
        link="west",
        authority=f"{service}.default.svc.west.cluster.local:80",
        namespace="default",
        service=f"{service}-west",
        protocol=protocol,
    )


GATEWAY = GatewayRoutes(
    inbound=(
        inbound(
            "db", "tcp", pod="db-0", callers=Callers(exact=("spiffe://east.isthmus/ns/a/sa/b",))
        ),
        inbound("web", "http"),
        inbound("rpc", "http2", callers=Callers()),
    ),
    catalogue=(Place(address="10.2.0.3", port=8443),),
    catalogue_callers=Callers(exact=("spiffe://east.isthmus/ns/isthmus/sa/controller",)),
    controller="spiffe://west.isthmus/ns/isthmus/sa/controller",
)
EGRESS = EgressRoutes(
    outbound=(
        outbound(20_001, "db", "tcp"),
        outbound(20_002, "web", "http"),
        outbound(20_003, "rpc", "http2"),
    ),
    peers=(
        Peer(
            link="west",
            places=(Place(address="203.0.113.9", port=4143),),
            identity="spiffe://west.isthmus/ns/isthmus/sa/gateway",
        ),
    ),
    callers={"10.1.0.1": "default/curl", "10.1.0.2": "default/curl", "10.1.0.3": "shop/cart"},
)

_labels = st.sampled_from(["a", "b", "web", "nginx-svc", "x" * 63])
_protocols: st.SearchStrategy[Protocol] = st.sampled_from(["tcp", "http", "http2"])
_addresses = st.ip_addresses(v=4).map(str)
_places = st.builds(Place, address=_addresses, port=st.integers(1, 65535))
_ids = st.builds("spiffe://{}.isthmus/ns/{}/sa/{}".format, _labels, _labels, _labels)
_callers = st.builds(
    Callers,
    exact=st.lists(_ids, max_size=2).map(tuple),
    prefixes=st.lists(_ids.map(lambda one: one[:-1]), max_size=2).map(tuple),
)
_authorities = st.builds(
    "{}.{}.svc.west.cluster.local:{}".format, _labels, _labels, st.integers(1, 3)
)
_inbound = st.builds(
    Inbound,
    authority=_authorities,
    namespace=_labels,
    service=_labels,
    protocol=_protocols,
    places=st.lists(_places, max_size=3).map(tuple),
    callers=_callers,
)
_links = st.sampled_from(["west", "north", "south"])
_outbound = st.builds(
    Outbound,
    listener=st.integers(20_000, 20_009),
    link=_links,
    authority=_authorities,
    namespace=_labels,
    service=_labels,
    protocol=_protocols,
)
_peers = st.builds(
    Peer, link=_links, places=st.lists(_places, max_size=2).map(tuple), identity=_ids
)

gateways: st.SearchStrategy[GatewayRoutes] = st.builds(
    GatewayRoutes,
    inbound=st.lists(_inbound, max_size=5, unique_by=lambda one: one.authority).map(tuple),
    catalogue=st.lists(_places, max_size=2).map(tuple),
    catalogue_callers=_callers,
    controller=st.just("") | _ids,
)
egresses: st.SearchStrategy[EgressRoutes] = st.builds(
    EgressRoutes,
    outbound=st.lists(_outbound, max_size=5, unique_by=lambda one: one.listener).map(tuple),
    peers=st.lists(_peers, max_size=3, unique_by=lambda one: one.link).map(tuple),
    callers=st.dictionaries(_addresses, st.builds("{}/{}".format, _labels, _labels), max_size=5),
)
