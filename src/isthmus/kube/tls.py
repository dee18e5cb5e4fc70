"""TLS to an API server: the context to connect with, and words for a connection that failed."""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from isthmus.kube.apiserver import ApiServer
from isthmus.kube.errors import BadConfig
from isthmus.model.quoting import one_line
from isthmus.pki.facts import DAMAGED

LONGEST_NAME = 100  # characters of a name in a certificate that are shown
LOOK = 5.0  # seconds for a second look at a certificate that was not accepted
NAME_MISMATCH = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and …_IP_ADDRESS_MISMATCH


@dataclass(frozen=True, slots=True)
class Presented:
    """A certificate as a person would describe it."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    fingerprint: str

    def __str__(self) -> str:
        names = ", ".join(self.names) or "no name"
        return (
            f"{self.subject!r} issued by {self.issuer!r}, for {names}, SHA-256 {self.fingerprint}"
        )


def context(server: ApiServer) -> ssl.SSLContext:
    """Return the TLS context for ``server``; raise ``BadConfig`` if a certificate is unusable."""
    if server.ca_pem is None:
        made = ssl.create_default_context()
    else:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            made.load_verify_locations(cadata=server.ca_pem.decode("ascii"))
        except (ssl.SSLError, ValueError):
            raise BadConfig(f"{server.url}: the CA is not a PEM certificate") from None
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if not server.verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if server.client_cert_pem and server.client_key_pem:
        with as_file(server.client_cert_pem + b"\n" + server.client_key_pem) as path:
            try:
                # A key with a password must fail here; OpenSSL would ask on the terminal.
                made.load_cert_chain(path, password=lambda: "")
            except (ssl.SSLError, OSError, ValueError):
                text = f"{server.url}: client certificate and key cannot be used together"
                raise BadConfig(text) from None
    return made


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Lend ``content`` a path, because OpenSSL reads keys from files only; leave none behind."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()  # readable by nobody else
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            os.unlink(path)


def described(der: bytes) -> Presented | None:
    """Return what a certificate says of itself, from whomever; None if nobody can read it."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        subject, issuer = certificate.subject.rfc4514_string(), certificate.issuer.rfc4514_string()
    except DAMAGED:
        return None
    return Presented(
        one_line(subject, LONGEST_NAME),
        one_line(issuer, LONGEST_NAME),
        tuple(one_line(name, LONGEST_NAME) for name in _names(certificate)[:10]),
        certificate.fingerprint(SHA256()).hex(":"),
    )


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return tuple(str(name.value) for name in found)
    except (x509.ExtensionNotFound, *DAMAGED):
        return ()


async def presented(hosts: Sequence[str], port: int, server_name: str) -> Presented | None:
    """Look again, trusting nobody and sending nothing, at the certificate that was refused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK):
            for host in hosts:
                found = await _presented(host, port, server_name)
                if found is not None:
                    return found
    return None


async def _presented(host: str, port: int, server_name: str) -> Presented | None:
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    try:
        _, writer = await asyncio.open_connection(
            host, port, ssl=trusting, server_hostname=server_name
        )
    except OSError:
        return None
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return described(der) if der else None
    finally:
        writer.transport.abort()


def distrust(
    error: ssl.SSLCertVerificationError, seen: Presented | None, server: ApiServer, name: str
) -> str:
    """Say what we expected and what was there instead."""
    there = f"; it shows {seen}" if seen else ""
    if error.verify_code in NAME_MISMATCH:
        return f"{server.url}: the server's certificate is not for {name!r}{there}"
    trusted = f", trusted are {_authorities(server)}" if server.ca_pem else ""
    return (
        f"{server.url}: the server's certificate is not trusted: "
        f"{error.verify_message}{there}{trusted}"
    )


def _authorities(server: ApiServer) -> str:
    try:
        found = x509.load_pem_x509_certificates(server.ca_pem or b"")[:3]
        names = [one_line(one.subject.rfc4514_string(), LONGEST_NAME) for one in found]
    except DAMAGED:
        return "none"
    return ", ".join(
        f"{name!r} (SHA-256 {one.fingerprint(SHA256()).hex(':')})"
        for name, one in zip(names, found, strict=True)
    )
