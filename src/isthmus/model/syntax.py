"""What Kubernetes takes as a name, a label or a port.

What another cluster says is judged by these before it is written here: one value that the API
server refuses would keep the whole mirror from being made.
"""

import re

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(rf"{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")  # RFC 6335

LONGEST_SUBDOMAIN = 253


def is_dns_label(text: str) -> bool:
    return DNS_LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    return len(text) <= LONGEST_SUBDOMAIN and SUBDOMAIN.fullmatch(text) is not None


def is_service_name(text: str) -> bool:
    """Services are stricter than labels: before Kubernetes 1.36 they cannot start with a digit."""
    return SERVICE_NAME.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    return LABEL_VALUE.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Tell whether ``text`` can be the key of a label, or an ``appProtocol``: ``prefix/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return name != "" and is_label_value(name)


def is_port(number: int) -> bool:
    return 1 <= number <= 65535


def is_target_port(target: int | str) -> bool:
    """Tell whether ``target`` can be a ``targetPort``: a number, or the name of a pod's port."""
    if isinstance(target, int):
        return is_port(target)
    return PORT_NAME.fullmatch(target) is not None
