"""What a process proves itself with in TLS, held in memory only, and the contexts made of it."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from isthmus.kube.tls import as_file
from isthmus.model.identities import Identity
from isthmus.pki import keys
from isthmus.pki.bundle import Bundle
from isthmus.pki.verify import Untrusted, identify, read_leaf


@dataclass(frozen=True, slots=True)
class Credentials:
    """A leaf, the issuer that signed it, and the leaf's key. Equal if the certificates are."""

    leaf: x509.Certificate
    issuer: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False, compare=False)

    @property
    def chain_pem(self) -> bytes:
        return keys.chain_pem(self.leaf, self.issuer)

    @property
    def key_pem(self) -> bytes:
        return keys.key_pem(self.key)

    @property
    def not_after(self) -> datetime:
        return self.leaf.not_valid_after_utc


def server_context(own: Credentials, anchors: Bundle) -> ssl.SSLContext:
    """A server's side: shows ``own``, and verifies the certificates of those who show one."""
    made = _context(ssl.PROTOCOL_TLS_SERVER, anchors)
    made.verify_mode = ssl.CERT_OPTIONAL
    # A resumed session would be taken on what was true when it began, not on today's anchors.
    made.num_tickets = 0
    made.set_alpn_protocols(["http/1.1"])
    _show(made, own)
    return made


def client_context(anchors: Bundle, own: Credentials | None = None) -> ssl.SSLContext:
    """A client's side: verifies the server's chain, but not who it is; shows ``own``, if any."""
    made = _context(ssl.PROTOCOL_TLS_CLIENT, anchors)
    made.set_alpn_protocols(["http/1.1"])
    if own is not None:
        _show(made, own)
    return made


def pin(context: ssl.SSLContext, server: Identity) -> ssl.SSLContext:
    """Let ``context`` end every handshake with anybody but ``server``, before a byte is sent.

    Libraries compare host names, not URIs; whoever checks after a request was sent has given
    away what was in it.
    """

    class Pinned(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            found = peer(self, server.mesh_domain)
            if found != server:
                raise ssl.SSLCertVerificationError(
                    f"the server does not prove to be {server}, but {found or 'nobody'}"
                )

    context.sslobject_class = Pinned
    return context


def current(context: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Return a server's context that is, to each connection, whatever ``context`` is just then.

    Servers hold the one that they were started with. OpenSSL asks at every ClientHello, with or
    without a server name, which context to go on with; certificate and anchors come from that one.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    # These two are the connection's own from its beginning.
    made.verify_mode = ssl.CERT_OPTIONAL
    made.num_tickets = 0

    def swap(connection: ssl.SSLObject, _name: str | None, _before: ssl.SSLContext) -> None:
        connection.context = context()

    made.sni_callback = swap
    return made


def peer(connection: ssl.SSLObject, mesh_domain: str) -> Identity | None:
    """Return whom the other side of a verified connection proves to be; None if nobody."""
    shown = connection.getpeercert(binary_form=True)
    if not shown:
        return None
    try:
        return identify(read_leaf(shown), mesh_domain)
    except Untrusted:
        return None


def _context(protocol: "ssl._SSLMethod", anchors: Bundle) -> ssl.SSLContext:
    made = ssl.SSLContext(protocol)
    made.check_hostname = False  # identities are URIs: see ``pin`` and ``peer``
    made.verify_mode = ssl.CERT_REQUIRED
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_verify_locations(cadata=anchors.pem().decode())
    return made


def _show(context: ssl.SSLContext, own: Credentials) -> None:
    with as_file(own.chain_pem + own.key_pem) as path:
        context.load_cert_chain(path)
