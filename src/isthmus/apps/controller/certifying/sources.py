"""Where a connection comes from, as far as anybody has a share of something by it."""

from ipaddress import IPv6Address, ip_address


def source(host: str | None) -> str:
    """Return whom an address stands for: of IPv6 a whole network, which one machine can have."""
    try:
        address = ip_address((host or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)
