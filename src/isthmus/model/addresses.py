"""Which addresses we connect to when a stranger names them.

Whoever may write a Link or a Secret chooses where this process connects. The policy keeps it from
being turned against the node it runs on, or against a cloud's metadata service, which hands out
credentials to anybody on the machine who asks.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

METADATA = frozenset(
    ip_address(address)
    for address in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16")
)
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal"})
THIS_NETWORK = ip_network("0.0.0.0/8")
BROADCAST = ip_address("255.255.255.255")
NAT64 = ip_network("64:ff9b::/96")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# The resolver reads "127.1", "0x7f000001" and "2130706433" as IPv4 addresses, like inet_aton(3).
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@lru_cache(maxsize=4096)  # the same few addresses are asked about for every mirror
def refusal(host: str, *, allow_loopback: bool = False) -> str | None:
    """Tell why ``host``, an IP address or a name, is refused; None if it is not.

    A name can resolve to anything: the addresses it resolves to need the same check.
    """
    host = host.lower().rstrip(".")
    address = meant(host)
    if address is None:
        return _name_refusal(host, allow_loopback)
    return _address_refusal(address, allow_loopback)


def meant(host: str) -> Address | None:
    """Return where packets to ``host`` go if it is an IP address; None if it is anything else.

    For an IPv6 address that stands for an IPv4 one, that is the latter.
    """
    try:
        address = ip_address(host.partition("%")[0] if ":" in host else host)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def bracketed(host: str) -> str:
    """Return ``host`` as it stands before a port: an IPv6 address needs brackets there."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _address_refusal(address: Address, allow_loopback: bool) -> str | None:
    if address in METADATA:
        return "a cloud's metadata service"
    if address.is_loopback:
        return None if allow_loopback else "a loopback address"
    if address.is_unspecified or address in THIS_NETWORK:
        return "an unspecified address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast or address == BROADCAST:
        return "a multicast or broadcast address"
    return None


def _name_refusal(host: str, allow_loopback: bool) -> str | None:
    labels = host.split(".")
    if len(host) > 253 or not all(LABEL.fullmatch(label) for label in labels):
        return "not a host name"
    if NUMBER.fullmatch(labels[-1]):
        return "an IP address in an unusual form"
    if labels[-1] == "localhost":
        return None if allow_loopback else "a loopback address"
    if host in METADATA_NAMES:
        return "a cloud's metadata service"
    return None
