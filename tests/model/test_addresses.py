"""Which addresses a stranger may not send us to, however they are spelled."""

import pytest

from isthmus.model.addresses import refusal

LOOPBACK = "a loopback address"
LINK_LOCAL = "a link-local address"
METADATA = "a cloud's metadata service"
UNSPECIFIED = "an unspecified address"
MANY = "a multicast or broadcast address"
UNUSUAL = "an IP address in an unusual form"
NO_NAME = "not a host name"


@pytest.mark.parametrize(
    "host, why",
    [
        pytest.param("192.0.2.1", None, id="a public address"),
        pytest.param("10.0.0.1", None, id="a private address: clusters have them"),
        pytest.param("fd12:3456::1", None, id="a private IPv6 address"),
        pytest.param("api.west.example", None, id="a name"),
        pytest.param("api.west.example.", None, id="a name with its root"),
        pytest.param("169.254.169.254", METADATA, id="metadata of most clouds"),
        pytest.param("fd00:ec2::254", METADATA, id="metadata over IPv6"),
        pytest.param("FD00:0EC2:0:0:0:0:0:0254", METADATA, id="the same, written out"),
        pytest.param("100.100.100.200", METADATA, id="metadata of another cloud"),
        pytest.param("metadata.google.internal.", METADATA, id="metadata by name"),
        pytest.param("169.254.1.1", LINK_LOCAL, id="link-local"),
        pytest.param("fe80::1", LINK_LOCAL, id="link-local IPv6"),
        pytest.param("fe80::1%eth0", LINK_LOCAL, id="link-local IPv6 with a zone"),
        pytest.param("127.0.0.1", LOOPBACK, id="loopback"),
        pytest.param("127.8.8.8", LOOPBACK, id="all of 127/8"),
        pytest.param("::1", LOOPBACK, id="loopback IPv6"),
        pytest.param("localhost", LOOPBACK, id="loopback by name"),
        pytest.param("a.LOCALHOST.", LOOPBACK, id="any name under localhost"),
        pytest.param("0.0.0.0", UNSPECIFIED, id="unspecified"),
        pytest.param("0.1.2.3", UNSPECIFIED, id="this network"),
        pytest.param("::", UNSPECIFIED, id="unspecified IPv6"),
        pytest.param("224.0.0.1", MANY, id="multicast"),
        pytest.param("ff02::1", MANY, id="multicast IPv6"),
        pytest.param("255.255.255.255", MANY, id="broadcast"),
        pytest.param("::ffff:169.254.169.254", METADATA, id="IPv4 mapped into IPv6"),
        pytest.param("::ffff:127.0.0.1", LOOPBACK, id="loopback mapped into IPv6"),
        pytest.param("64:ff9b::a9fe:a9fe", METADATA, id="through NAT64"),
        pytest.param("2002:7f00:1::", LOOPBACK, id="through 6to4"),
        pytest.param("127.1", UNUSUAL, id="a short form that resolvers accept"),
        pytest.param("2852039166", UNUSUAL, id="one number"),
        pytest.param("0xA9FEA9FE", UNUSUAL, id="hexadecimal"),
        pytest.param("0177.0.0.1", UNUSUAL, id="octal"),
        pytest.param("", NO_NAME, id="empty"),
        pytest.param("a..b", NO_NAME, id="an empty label"),
        pytest.param("a b", NO_NAME, id="a space"),
        pytest.param("\uff4cocalhost", NO_NAME, id="letters that only look like ASCII"),
        pytest.param("x" * 64, NO_NAME, id="a label that is too long"),
    ],
)
def test_an_address_is_refused_for_a_reason(host: str, why: str | None) -> None:
    assert refusal(host) == why


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_loopback_can_be_allowed(host: str) -> None:
    assert refusal(host, allow_loopback=True) is None


def test_allowing_loopback_allows_nothing_else() -> None:
    assert refusal("169.254.169.254", allow_loopback=True) == METADATA
