"""A mesh of two clusters: who is who, and the routes of any number of services."""

import os
from datetime import UTC, datetime
from functools import cache

from isthmus.apps.credentials import Credentials
from isthmus.model import names
from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.model.routes import Callers, Inbound, Outbound, Peer, Place, Protocol
from isthmus.pki.anchor import create_anchor
from isthmus.pki.bundle import Bundle
from isthmus.pki.issue import issue
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, new_key
from isthmus.xds import secrets
from isthmus.xds.resources import Resource

# Runs at the same time keep out of each other's way, and out of that of clusters: those of tests
# have 127.1 to 127.250, those of the demo 127.251.
NET = f"127.252.{os.getpid() % 250 + 1}"
CONTROLLER_AT, GATEWAY_AT, EGRESS_AT, PODS_AT = (f"{NET}.{last}" for last in (1, 2, 3, 4))
FIRST_LISTENER = 20_000
LINK = "west"


def identity(cluster: str, account: str, namespace: str = "isthmus") -> Identity:
    return Identity(cluster, MESH_DOMAIN, namespace, account)


CONTROLLER = identity("west", names.CONTROLLER)
GATEWAY = identity("west", names.GATEWAY)
EGRESS = identity("east", names.EGRESS)
FOLLOWER = identity("east", names.CONTROLLER)  # who reads the catalogue


@cache
def _anchor() -> Pair:
    return create_anchor(MESH_DOMAIN, datetime.now(UTC))


@cache
def _issuer(cluster: str) -> Pair:
    return create_issuer(_anchor(), cluster, MESH_DOMAIN, datetime.now(UTC))


@cache
def credentials(who: Identity) -> Credentials:
    above, key = _issuer(who.cluster), new_key()
    leaf = issue(above, who, key.public_key(), datetime.now(UTC))
    return Credentials(leaf, above.certificate, key)


def anchors() -> Bundle:
    return Bundle((_anchor().certificate,))


def account(name: str) -> Resource:
    """The certificate of an account of east, given as "namespace/account"."""
    namespace, short = name.split("/")
    shown = credentials(identity("east", short, namespace))
    return secrets.account(name, shown.chain_pem, shown.key_pem)


def authority(number: int) -> str:
    return f"{_service(number)}.{_namespace(number)}.svc.west.cluster.local:80"


def inbound(number: int, protocol: Protocol, *places: Place) -> Inbound:
    """One exported port, which east may call."""
    return Inbound(
        authority=authority(number),
        namespace=_namespace(number),
        service=_service(number),
        protocol=protocol,
        places=places,
        callers=Callers(prefixes=(f"spiffe://east.{MESH_DOMAIN}/",)),
    )


def outbound(number: int, protocol: Protocol) -> Outbound:
    """Its mirror."""
    return Outbound(
        listener=FIRST_LISTENER + number,
        link=LINK,
        authority=authority(number),
        namespace=_namespace(number),
        service=f"{_service(number)}-{LINK}",
        protocol=protocol,
    )


def peer() -> Peer:
    place = Place(address=GATEWAY_AT, port=4143)
    return Peer(link=LINK, places=(place,), identity=str(GATEWAY))


def pod(number: int) -> str:
    """An address that is another one for each of some millions, and answers for nobody."""
    return f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"


def _service(number: int) -> str:
    return f"payments-api-{number:05}"


def _namespace(number: int) -> str:
    return f"team-{number % 50:02}"
