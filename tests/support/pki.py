"""A small mesh for tests, and every certificate that must not get through.

``HOSTILE`` is one table for all who verify: our own verifier, OpenSSL, and the Envoys.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issue import issue
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, chain_pem, key_pem, new_key
from isthmus.pki.shape import authority_usage, leaf_usage

# The real time: OpenSSL and Envoy cannot be told another.
NOW = datetime.now(UTC).replace(microsecond=0)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
MAIL = ExtendedKeyUsageOID.EMAIL_PROTECTION
HOUR = timedelta(hours=1)


def identity(cluster: str = "east", account: str = "curl", namespace: str = "default") -> Identity:
    return Identity(cluster, MESH_DOMAIN, namespace, account)


class Credentials(NamedTuple):
    """What somebody shows in a handshake: certificates, the leaf first, and the leaf's key."""

    chain: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey

    @property
    def chain_pem(self) -> bytes:
        return chain_pem(*self.chain)

    @property
    def key_pem(self) -> bytes:
        return key_pem(self.key)


@cache
def anchor() -> Pair:
    return create_anchor(MESH_DOMAIN, NOW)


@cache
def issuer(cluster: str = "east") -> Pair:
    return create_issuer(anchor(), cluster, MESH_DOMAIN, NOW)


@cache
def credentials(who: Identity, pod: str = "") -> Credentials:
    """What the controller of that cluster would issue, to a pod if one asks."""
    above, key = issuer(who.cluster), new_key()
    return Credentials((issue(above, who, key.public_key(), NOW, pod), above.certificate), key)


@dataclass(frozen=True)
class Leaf:
    """All that a leaf says, each part of which can be wrong; by itself it is right."""

    uris: Sequence[str] = (str(identity()),)
    dns: Sequence[str] = ()
    mails: Sequence[str] = ()
    subject: str = ""
    purposes: Sequence[ObjectIdentifier] = (CLIENT, SERVER)
    begin: datetime = NOW - HOUR
    end: datetime = NOW + HOUR
    constraints: tuple[x509.BasicConstraints, bool] = (x509.BasicConstraints(False, None), True)
    more: Sequence[tuple[x509.ExtensionType, bool]] = field(default=())

    def signed_by(self, above: Pair) -> Pair:
        key = new_key()
        builder = _blank(key, self.subject, above.certificate.subject, self.begin, self.end)
        names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri) for uri in self.uris]
        names += [x509.DNSName(name) for name in self.dns]
        names += [x509.RFC822Name(mail) for mail in self.mails]
        builder = builder.add_extension(*self.constraints)
        builder = builder.add_extension(leaf_usage(), critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=True)
        if self.purposes:
            builder = builder.add_extension(x509.ExtendedKeyUsage(self.purposes), critical=False)
        for extension, critical in self.more:
            builder = builder.add_extension(extension, critical)
        return Pair(builder.sign(above.key, hashes.SHA256()), key)

    def shown(self, *above: Pair) -> Credentials:
        """Return this leaf, signed by the first of ``above``, with the certificates of all."""
        pair = self.signed_by(above[0])
        return Credentials((pair.certificate, *(each.certificate for each in above)), pair.key)


def authority(
    above: Pair | None,
    constraint: x509.NameConstraints | None,
    path_length: int | None = 0,
    *,
    is_authority: bool = True,
) -> Pair:
    """An authority that ``above`` signed, or a root, with whatever constraint."""
    key = new_key()
    name = _name("an authority")
    builder = _blank(
        key,
        "an authority",
        above.certificate.subject if above else name,
        NOW - HOUR,
        NOW + HOUR,
    )
    constraints = x509.BasicConstraints(is_authority, path_length if is_authority else None)
    builder = builder.add_extension(constraints, critical=True)
    builder = builder.add_extension(authority_usage(), critical=True)
    if constraint is not None:
        builder = builder.add_extension(constraint, critical=True)
    return Pair(builder.sign(above.key if above else key, hashes.SHA256()), key)


def permits(*hosts: str) -> x509.NameConstraints:
    return x509.NameConstraints([x509.UniformResourceIdentifier(host) for host in hosts], None)


def _blank(
    key: ec.EllipticCurvePrivateKey, subject: str, above: x509.Name, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(above)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])


def of_version(der: bytes, version: int) -> bytes:
    """A certificate that says to be of another version: OpenSSL takes it, cryptography does not."""
    place = der.index(b"\xa0\x03\x02\x01\x02")
    return der[: place + 4] + bytes([version]) + der[place + 5 :]


def resigned(certificate: x509.Certificate, above: Pair, version: int = 3) -> str:
    """The same (PEM) of another version, with a signature that is good: OpenSSL lets it pass."""
    said = of_version(certificate.tbs_certificate_bytes, version)
    signature = b"\0" + above.key.sign(said, ec.ECDSA(hashes.SHA256()))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")  # ecdsa-with-SHA256
    return ssl.DER_cert_to_PEM_cert(_tlv(0x30, said + algorithm + _tlv(0x03, signature)))


def _tlv(tag: int, value: bytes) -> bytes:
    """One value in DER."""
    size = len(value).to_bytes(2, "big").lstrip(b"\0")
    length = size if len(value) < 128 else bytes([0x80 | len(size)]) + size
    return bytes([tag]) + length + value


def unreadable(what: str) -> x509.Certificate:
    """A certificate whose extensions make no sense, which shows when they are read."""
    names = ObjectIdentifier("2.5.29.17")
    one, other = (ObjectIdentifier(f"1.3.6.1.4.1.99999.{last}") for last in (1, 2))
    match what:
        case "twice":
            both = [(x509.UnrecognizedExtension(each, b"\x05\x00"), False) for each in (one, other)]
            made = Leaf(more=both).signed_by(issuer()).certificate
            der = made.public_bytes(Encoding.DER)
            last = b"\x06\x09+\x06\x01\x04\x01\x86\x8d\x1f"
            return x509.load_der_x509_certificate(der.replace(last + b"\x02", last + b"\x01"))
        case "an address of X.400":
            odd = x509.UnrecognizedExtension(names, b"\x30\x02\xa3\x00")
        case _:
            odd = x509.UnrecognizedExtension(names, b"nonsense")
    return Leaf(uris=[], more=[(odd, False)]).signed_by(issuer()).certificate


UNREADABLE = ("twice", "an address of X.400", "nonsense")


class Hostile(NamedTuple):
    """Credentials that prove nobody, and who notices."""

    make: Callable[[], Credentials]
    reason: str  # part of what our verifier says
    handshake: frozenset[str]  # the TLS libraries that refuse it by themselves


BOTH = frozenset(("openssl", "envoy"))
ENVOY = frozenset(("envoy",))
NEITHER: frozenset[str] = frozenset()


def _by_the_anchor() -> Credentials:
    pair = Leaf().signed_by(anchor())
    return Credentials((pair.certificate,), pair.key)


def _from_a_leaf() -> Credentials:
    """A leaf of east acts as an issuer."""
    middle = Leaf().signed_by(issuer())
    return Leaf().shown(middle, issuer())


def _sub_issuer() -> Credentials:
    return Leaf().shown(authority(issuer(), permits("east.isthmus")), issuer())


def _self_signed() -> Credentials:
    key = new_key()
    own = Pair(Leaf(subject="me").signed_by(Pair(issuer().certificate, key)).certificate, key)
    return Leaf().shown(own)


def _elsewhere() -> Credentials:
    """Everything right, but below another anchor of the same mesh domain."""
    return Leaf().shown(create_issuer(_other_anchor(), "east", MESH_DOMAIN, NOW))


def _forged() -> Credentials:
    """A leaf that somebody else signed in the name of east's issuer, which is sent with it."""
    return Leaf().shown(Pair(issuer().certificate, new_key()))


@cache
def _other_anchor() -> Pair:
    return create_anchor(MESH_DOMAIN, NOW)


def _under(constraint: x509.NameConstraints | None, leaf: Leaf) -> Callable[[], Credentials]:
    """A leaf below an issuer that the anchor signed with this constraint."""
    return lambda: leaf.shown(authority(anchor(), constraint))


def _east(leaf: Leaf) -> Callable[[], Credentials]:
    """A leaf that the issuer of east signed: what whoever stole it could make."""
    return lambda: leaf.shown(issuer())


EAST, WEST = str(identity("east")), str(identity("west"))
_UNKNOWN = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")

HOSTILE: Mapping[str, Hostile] = {
    "west from east's issuer": Hostile(
        _east(Leaf(uris=[WEST])),
        "is for west.isthmus, its issuer for east.isthmus only",
        BOTH,
    ),
    "a host below east": Hostile(
        _east(Leaf(uris=["spiffe://x.east.isthmus/ns/default/sa/curl"])), "names nobody", BOTH
    ),
    "two URIs": Hostile(_east(Leaf(uris=[EAST, f"{EAST}2"])), "2 URIs", NEITHER),
    "two URIs, one of west": Hostile(_east(Leaf(uris=[EAST, WEST])), "2 URIs", BOTH),
    "DNS only": Hostile(_east(Leaf(uris=[], dns=["curl.default.svc"])), "0 URIs", BOTH),
    "URI and DNS": Hostile(_east(Leaf(dns=["curl.default.svc"])), "1 other names", BOTH),
    "mail only": Hostile(_east(Leaf(uris=[], mails=["curl@isthmus"])), "0 URIs", NEITHER),
    "common name only": Hostile(_east(Leaf(uris=[], subject="curl")), "0 URIs", ENVOY),
    "URI as common name": Hostile(_east(Leaf(uris=[], subject=EAST)), "0 URIs", NEITHER),
    "with a slash too many": Hostile(_east(Leaf(uris=[f"{EAST}/"])), "names nobody", NEITHER),
    "with a query": Hostile(_east(Leaf(uris=[f"{EAST}?x"])), "names nobody", NEITHER),
    "upper case": Hostile(
        _east(Leaf(uris=["spiffe://EAST.isthmus/ns/default/sa/curl"])), "names nobody", NEITHER
    ),
    "west after a user of east": Hostile(
        _east(Leaf(uris=["spiffe://east.isthmus:x@west.isthmus/ns/default/sa/curl"])),
        "names nobody",
        ENVOY,
    ),
    "another scheme": Hostile(
        _east(Leaf(uris=["https://east.isthmus/ns/default/sa/curl"])), "names nobody", NEITHER
    ),
    "for servers only": Hostile(_east(Leaf(purposes=[SERVER])), "not for both client", BOTH),
    "for clients only": Hostile(_east(Leaf(purposes=[CLIENT])), "not for both client", NEITHER),
    "for mail": Hostile(_east(Leaf(purposes=[MAIL])), "not for both client", BOTH),
    "for nothing in particular": Hostile(_east(Leaf(purposes=[])), "not for both client", NEITHER),
    "expired": Hostile(
        _east(Leaf(begin=NOW - 2 * HOUR, end=NOW - HOUR)), "the leaf expired at", BOTH
    ),
    "not yet valid": Hostile(
        _east(Leaf(begin=NOW + HOUR, end=NOW + 2 * HOUR)), "the leaf holds only from", BOTH
    ),
    "a leaf that is an authority": Hostile(
        _east(Leaf(constraints=(x509.BasicConstraints(True, None), True))),
        "the leaf is an authority",
        NEITHER,
    ),
    "a leaf that is an authority, uncritically": Hostile(
        _east(Leaf(constraints=(x509.BasicConstraints(True, 0), False))),
        "the leaf is an authority",
        NEITHER,
    ),
    "unknown critical extension": Hostile(
        _east(Leaf(more=[(_UNKNOWN, True)])), "critical extension that is unknown", BOTH
    ),
    "a longer chain": Hostile(_sub_issuer, "3 certificates were sent", BOTH),
    "below a leaf": Hostile(_from_a_leaf, "3 certificates were sent", BOTH),
    "by the anchor itself": Hostile(
        _by_the_anchor,
        "1 certificates were sent",
        NEITHER,
    ),
    "self-signed": Hostile(_self_signed, "not signed by an anchor", BOTH),
    "another anchor": Hostile(_elsewhere, "not signed by an anchor", BOTH),
    "forged signature": Hostile(_forged, "not signed by the issuer that was sent", BOTH),
    "unconstrained issuer": Hostile(
        _under(None, Leaf()), "not constrained to one cluster", NEITHER
    ),
    "issuer for the whole mesh": Hostile(
        _under(permits(".isthmus"), Leaf(uris=[WEST])),
        "something else than one cluster",
        NEITHER,
    ),
    "issuer for two clusters": Hostile(
        _under(permits("east.isthmus", "west.isthmus"), Leaf(uris=[WEST])),
        "something else than one cluster",
        NEITHER,
    ),
    "issuer of another mesh": Hostile(
        _under(permits("east.other"), Leaf(uris=["spiffe://east.other/ns/default/sa/curl"])),
        "does not vouch for east.other",
        BOTH,
    ),
    "issuer that is no authority": Hostile(
        lambda: Leaf().shown(authority(anchor(), permits("east.isthmus"), is_authority=False)),
        "the issuer is not an authority",
        BOTH,
    ),
}


@cache
def hostile(name: str) -> Credentials:
    """Return the credentials of that row of ``HOSTILE``, made once."""
    return HOSTILE[name].make()
