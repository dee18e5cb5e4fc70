"""The spelling rules for names, labels and ports, with the sentences the API explains them in.

Every rule returns what is wrong as a list of sentences; an empty list is a pass.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import TypeAlias

NameRule: TypeAlias = Callable[[str, bool], list[str]]  # (name, it is only a prefix)

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LETTER_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = LABEL + r"(\." + LABEL + ")*"
QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
DATA_KEY = "[-._a-zA-Z0-9]+"

_label = re.compile(LABEL)
_letter_label = re.compile(LETTER_LABEL)
_subdomain = re.compile(SUBDOMAIN)
_qualified = re.compile(QUALIFIED)
_label_value = re.compile(LABEL_VALUE)
_data_key = re.compile(DATA_KEY)


def label(value: str) -> list[str]:
    """An RFC 1123 label: the name of a namespace, of a Service, of a host."""
    wrong = too_long(value, 63)
    if not _label.fullmatch(value):
        if _subdomain.fullmatch(value):
            wrong.append("must not contain dots")
        else:
            wrong.append(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
                "or '-', and must start and end with an alphanumeric character "
                f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
            )
    return wrong


def subdomain(value: str, unit: str = "characters") -> list[str]:
    """An RFC 1123 subdomain: the name of most objects."""
    wrong = too_long(value, 253, unit)
    if not _subdomain.fullmatch(value):
        wrong.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character "
            f"(e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        )
    return wrong


def letter_label(value: str) -> list[str]:
    """An RFC 1035 label: like :func:`label`, but it starts with a letter."""
    wrong = too_long(value, 63)
    if not _letter_label.fullmatch(value):
        wrong.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic character, and end with an alphanumeric character "
            f"(e.g. 'my-name',  or 'abc-123', regex used for validation is '{LETTER_LABEL}')"
        )
    return wrong


def qualified(value: str) -> list[str]:
    """``[prefix/]name``: keys of labels and annotations, and finalizers."""
    examples = "(e.g. 'MyName',  or 'my.name',  or '123-abc', "
    rule = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
        f"an alphanumeric character {examples}regex used for validation is '{QUALIFIED}')"
    )
    if value.count("/") > 1:
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {rule} {prefixed}"]
    prefix, slash, name = value.rpartition("/")
    wrong: list[str] = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        wrong += [f"prefix part {sentence}" for sentence in subdomain(prefix, unit="bytes")]
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {sentence}" for sentence in too_long(name, 63, unit="bytes")]
    if not _qualified.fullmatch(name):
        wrong.append(f"name part {rule}")
    return wrong


def label_value(value: str) -> list[str]:
    wrong = too_long(value, 63, unit="bytes")
    if not _label_value.fullmatch(value):
        wrong.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345', "
            f"regex used for validation is '{LABEL_VALUE}')"
        )
    return wrong


def data_key(value: str) -> list[str]:
    """A key of a ConfigMap's or Secret's data; it may become a file name."""
    wrong = too_long(value, 253)
    if not _data_key.fullmatch(value):
        wrong.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
            f"regex used for validation is '{DATA_KEY}')"
        )
    if value in (".", ".."):
        wrong.append(f"must not be '{value}'")
    elif value.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def port_name(value: str) -> list[str]:
    """A container port's name (RFC 6335, lower case only), also as a targetPort."""
    wrong = too_long(value, 15)
    if not re.fullmatch("[-a-z0-9]+", value):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in value:
        wrong.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    """The API counts bytes, whatever ``unit`` its sentence names."""
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def subdomain_name(name: str, is_prefix: bool) -> list[str]:
    return subdomain(_completed(name) if is_prefix else name)


def label_name(name: str, is_prefix: bool) -> list[str]:
    return label(_completed(name) if is_prefix else name)


def path_segment_name(name: str, is_prefix: bool) -> list[str]:
    """RBAC objects accept anything that can stand in a URL path."""
    if not is_prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in ("/", "%") if char in name]


def _completed(prefix: str) -> str:
    """A prefix may end with a dash, because something follows it."""
    return prefix[:-1] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def ip(value: str) -> list[str]:
    """An IP address in its plain spelling."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        unpadded = re.sub(r"(^|\.)0+(?=[0-9])", r"\1", value)
        if unpadded != value and not ip(unpadded):
            return ["must not have leading 0s"]
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_ip(value: str) -> list[str]:
    """The one spelling of an address; ``value`` is a valid IP already."""
    plain = str(ipaddress.ip_address(value))
    return [] if plain == value else [f'must be in canonical form ("{plain}")']


def endpoint_ip(value: str, *, loopback: bool = False) -> list[str]:
    """An address that can be somebody else's endpoint; ``value`` is a valid IP already."""
    address = ipaddress.ip_address(value)
    wrong: list[str] = []
    if address.is_unspecified:
        wrong.append(f"may not be unspecified ({value})")
    if address.is_loopback and not loopback:
        wrong.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        wrong.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(address):
        wrong.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return wrong


def _is_link_local_multicast(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def cidr(value: str) -> list[str]:
    try:
        if "/" not in value:
            raise ValueError
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    return []
