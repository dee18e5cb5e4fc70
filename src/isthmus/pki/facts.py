"""What a certificate says, digested once: roles, names, limits. Whoever judges one reads these."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID

from isthmus.model.errors import Permanent
from isthmus.model.times import second_time

_UNDERSTOOD = (
    x509.BasicConstraints,
    x509.KeyUsage,
    x509.ExtendedKeyUsage,
    x509.SubjectAlternativeName,
    x509.NameConstraints,
)
_PURPOSES = {
    ExtendedKeyUsageOID.CLIENT_AUTH: "client",
    ExtendedKeyUsageOID.SERVER_AUTH: "server",
}
# All that may be raised while a certificate or a request is read, whatever it holds.
DAMAGED = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
_E = TypeVar("_E", bound=x509.ExtensionType)


class Unreadable(Permanent):
    """A certificate whose inside cannot be read."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The parts of a certificate that decide what it may do."""

    is_authority: bool
    path_length: int | None  # of an authority; None: any
    signs_certificates: bool  # by its key usage
    signs: bool  # TLS handshakes, by its key usage
    purposes: frozenset[str]  # "client", "server", or the number of another
    uris: tuple[str, ...]
    other_names: tuple[str, ...]  # "DNS:web.default.svc"
    permitted: tuple[str, ...] | None  # hosts of URIs below it; None: it sets no such limit
    excludes_uris: bool
    unknown: tuple[str, ...]  # critical extensions that we do not understand

    def permits(self, host: str) -> bool:
        """Tell whether certificates below this one may speak for ``host``.

        RFC 5280, 4.2.1.10: with a leading dot any host under it, without one that host alone.
        """
        return self.permitted is None or any(
            host == each or (each.startswith(".") and host.endswith(each))
            for each in self.permitted
        )


def read(der: bytes) -> x509.Certificate:
    """Return the certificate in ``der``; raise one of ``DAMAGED`` if any part of it is.

    What is parsed late is read now, so that nothing fails where nobody expects it.
    """
    certificate = x509.load_der_x509_certificate(der)
    certificate.extensions  # noqa: B018
    certificate.subject, certificate.issuer  # noqa: B018
    certificate.public_key()
    return certificate


def facts(certificate: x509.Certificate) -> Facts:
    """Return what ``certificate`` says; raise :class:`Unreadable` if nobody could tell."""
    try:
        return _facts(certificate.extensions)
    except (x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        raise Unreadable("its extensions are there twice or of unknown form") from None
    except DAMAGED:
        raise Unreadable("its extensions are damaged") from None


def untimely(certificate: x509.Certificate, now: datetime) -> str:
    """Say why ``certificate`` does not hold now; nothing, if it does."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if end <= now:
        return f"expired at {second_time(end)}"
    if begin > now:
        return f"holds only from {second_time(begin)}"
    return ""


def _facts(extensions: x509.Extensions) -> Facts:
    basic = _value(extensions, x509.BasicConstraints)
    usage = _value(extensions, x509.KeyUsage)
    purposes = _value(extensions, x509.ExtendedKeyUsage)
    names = tuple(_value(extensions, x509.SubjectAlternativeName) or ())
    limits = _value(extensions, x509.NameConstraints)
    return Facts(
        is_authority=basic is not None and basic.ca,
        path_length=basic.path_length if basic else None,
        signs_certificates=usage is not None and usage.key_cert_sign,
        signs=usage is None or usage.digital_signature,
        purposes=frozenset(_PURPOSES.get(each, each.dotted_string) for each in purposes or ()),
        uris=_uris(names),
        other_names=tuple(_shown(name) for name in names if not _is_uri(name)),
        permitted=_uris(limits.permitted_subtrees or ()) or None if limits else None,
        excludes_uris=limits is not None and bool(_uris(limits.excluded_subtrees or ())),
        unknown=tuple(
            each.oid.dotted_string
            for each in extensions
            if each.critical and not isinstance(each.value, _UNDERSTOOD)
        ),
    )


def _value(extensions: x509.Extensions, kind: type[_E]) -> _E | None:
    try:
        return extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _is_uri(name: x509.GeneralName) -> bool:
    return isinstance(name, x509.UniformResourceIdentifier)


def _uris(names: Iterable[x509.GeneralName]) -> tuple[str, ...]:
    return tuple(each.value for each in names if isinstance(each, x509.UniformResourceIdentifier))


def _shown(name: x509.GeneralName) -> str:
    kinds = {x509.DNSName: "DNS", x509.IPAddress: "IP", x509.RFC822Name: "email"}
    return f"{kinds.get(type(name), 'other')}:{name.value}"
