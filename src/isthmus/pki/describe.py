"""A certificate, told to a person: what it is, whom it names, how long it holds, what is wrong."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

from cryptography import x509
from cryptography.x509.oid import NameOID

from isthmus.pki.facts import Facts, Unreadable, facts, untimely
from isthmus.pki.keys import fingerprint
from isthmus.pki.verify import Untrusted, identify

_WORDS = {NameOID.SERIAL_NUMBER: "serialNumber"}  # which RFC 4514 leaves a number

Role = Literal["anchor", "issuer", "leaf"]


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to say about one certificate."""

    role: Role
    subject: str
    names: tuple[str, ...]
    constraint: tuple[str, ...]  # the hosts that certificates below it may speak for
    fingerprint: str
    serial: str
    not_before: datetime
    not_after: datetime
    problems: tuple[str, ...]


def describe(certificate: x509.Certificate, now: datetime) -> Description:
    """Say what ``certificate`` is, and what is wrong with it by itself."""
    problems = list(filter(None, (untimely(certificate, now),)))
    role: Role = "leaf"
    found: Facts | None = None
    try:
        found = facts(certificate)
    except Unreadable as error:
        problems.append(f"it cannot be read: {error}")
    else:
        if found.is_authority:
            role = "anchor" if certificate.subject == certificate.issuer else "issuer"
        problems += _amiss(role, found, certificate)
    return Description(
        role=role,
        subject=certificate.subject.rfc4514_string(_WORDS),
        names=(*found.uris, *found.other_names) if found else (),
        constraint=(found.permitted or ()) if found else (),
        fingerprint=fingerprint(certificate),
        serial=f"{certificate.serial_number:x}",
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        problems=tuple(problems),
    )


def _amiss(role: Role, found: Facts, certificate: x509.Certificate) -> list[str]:
    match role:
        case "anchor":
            return ["allows no issuers below it"] if found.path_length == 0 else []
        case "issuer":
            return _amiss_in_issuer(found)
        case "leaf":
            return _amiss_in_leaf(found, certificate)
        case never:
            assert_never(never)


def _amiss_in_issuer(found: Facts) -> list[str]:
    problems = []
    if found.permitted is None:
        problems.append("not constrained to one cluster")
    elif len(found.permitted) != 1 or found.permitted[0].startswith("."):
        problems.append("constrained to something else than one cluster")
    if found.path_length != 0:
        problems.append("allows further issuers below it")
    if not found.signs_certificates:
        problems.append("must not sign certificates, by its key usage")
    return problems


def _amiss_in_leaf(found: Facts, certificate: x509.Certificate) -> list[str]:
    host = found.uris[0].partition("://")[2].partition("/")[0] if found.uris else ""
    try:
        identify(certificate, host.partition(".")[2])
    except Untrusted as error:
        return [str(error)]
    return []
