"""What can be told of a certificate by its text."""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier
from hypothesis import given
from hypothesis import strategies as st

from isthmus.xds.leaves import AUTHORITY, PURPOSES, proper, spelled
from tests.support import pki
from tests.support.pki import CLIENT, MAIL, SERVER, Leaf

LINE = 48  # bytes of a line of PEM


def says(pem: str, expressions: Sequence[str]) -> bool:
    return any(re.search(one, pem) for one in expressions)


FOR_BOTH = spelled(PURPOSES)
AN_AUTHORITY = tuple(each for one in AUTHORITY for each in spelled(one))


def is_proper(certificate: x509.Certificate) -> bool:
    """Judge as :func:`isthmus.xds.leaves.proper` has Envoy judge."""
    pem = certificate.public_bytes(Encoding.PEM).decode()
    return says(pem, FOR_BOTH) and not says(pem, AN_AUTHORITY)


def test_envoy_is_told_what_was_read(golden: Callable[[str, str], None]) -> None:
    """The listener's own golden file cannot show it."""
    golden(
        "gateway-proper.cel", proper().replace(" || ", "\n  || ").replace(" && ", "\n&& ") + "\n"
    )


@given(
    before=st.binary(max_size=2 * LINE),
    found=st.lists(st.one_of(st.none(), st.integers(0, 255)), min_size=1, max_size=2 * LINE),
    after=st.binary(max_size=LINE),
    rest=st.binary(min_size=2 * LINE, max_size=2 * LINE),
)
def test_bytes_are_found_wherever_they_stand(
    before: bytes, found: list[int | None], after: bytes, rest: bytes
) -> None:
    there = bytes(any_ if one is None else one for one, any_ in zip(found, rest, strict=False))
    text = b64encode(before + there + after).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    assert says("\n".join(["-----BEGIN-----", *lines, "-----END-----"]), spelled(found))


def test_whatever_a_controller_makes_is_proper() -> None:
    """By the length of the name, what matters comes to stand at every place of a line."""
    for length in range(1, LINE + 1):
        who = pki.identity("east", "a" * length)
        for pod in ("", "gateway-6c3ff8eb53-d9xj7"):
            assert is_proper(pki.credentials(who, pod).chain[0])


@pytest.mark.parametrize("is_critical", [True, False])
@pytest.mark.parametrize("path_length", [None, 0, 127, 128, 70_000])
def test_an_authority_is_not_proper(path_length: int | None, is_critical: bool) -> None:
    constraints = x509.BasicConstraints(ca=True, path_length=path_length), is_critical
    for length in range(LINE):
        leaf = Leaf(subject="a" * length, constraints=constraints)
        assert not is_proper(leaf.signed_by(pki.issuer()).certificate)


@pytest.mark.parametrize(
    "purposes",
    [
        pytest.param([], id="nothing in particular"),
        pytest.param([CLIENT], id="clients only"),
        pytest.param([SERVER], id="servers only"),
        pytest.param([CLIENT, MAIL], id="clients and mail"),
        pytest.param([MAIL, SERVER], id="servers and mail"),
        pytest.param([CLIENT, SERVER, MAIL], id="all of it"),
        pytest.param([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE], id="anything"),
    ],
)
def test_a_leaf_for_something_else_is_not_proper(purposes: list[ObjectIdentifier]) -> None:
    for length in range(LINE):
        leaf = Leaf(subject="a" * length, purposes=purposes)
        assert not is_proper(leaf.signed_by(pki.issuer()).certificate)


def test_an_authority_cannot_hide_what_it_is() -> None:
    """What a proper leaf says, hidden where nobody reads it, does not help."""
    constraints = x509.BasicConstraints(ca=True, path_length=None), True
    decoy = PURPOSES + bytes.fromhex("0603551d13 0101ff 0402 3000")
    more = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.99999.2"), decoy)
    leaf = Leaf(constraints=constraints, more=[(more, False)])
    assert not is_proper(leaf.signed_by(pki.issuer()).certificate)
