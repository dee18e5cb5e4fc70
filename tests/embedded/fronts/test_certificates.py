"""Certificates that clients can verify."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from isthmus.embedded.fronts.certificates import Authority, Pair

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def verify(authority: Authority, pair: Pair, subject: x509.DNSName | x509.IPAddress) -> None:
    root = x509.load_pem_x509_certificate(authority.pem.encode())
    verifier = (
        PolicyBuilder().store(Store([root])).time(NOW + timedelta(hours=1))
    ).build_server_verifier(subject)
    verifier.verify(x509.load_pem_x509_certificate(pair.certificate), [])


@pytest.mark.parametrize(
    "subject",
    [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))],
    ids=["by name", "by address"],
)
def test_a_client_that_trusts_the_authority_trusts_the_server(
    subject: x509.DNSName | x509.IPAddress,
) -> None:
    authority = Authority("west", NOW)
    verify(authority, authority.issue(["localhost", "127.0.0.1"], NOW), subject)


def test_another_clusters_authority_is_not_trusted() -> None:
    issued = Authority("west", NOW).issue(["localhost"], NOW)
    with pytest.raises(VerificationError):
        verify(Authority("east", NOW), issued, x509.DNSName("localhost"))


def test_a_private_key_is_not_shown() -> None:
    assert "PRIVATE" not in repr(Authority("west", NOW).issue(["localhost"], NOW))
