"""EndpointSlices, and the Endpoints they have replaced."""

from collections.abc import Iterator

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import (
    duplicate,
    each,
    invalid,
    required,
    too_many,
    unequal,
    unsupported,
)
from isthmus.embedded.kinds.services import PROTOCOLS
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

MOST_ENDPOINTS = 1000
MOST_ADDRESSES = 100
_FAMILIES = ("FQDN", "IPv4", "IPv6")


def fill_slice(obj: JsonObject) -> None:
    for port in obj["ports"] or []:
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def prepare_slice(new: JsonObject, old: JsonObject | None) -> None:
    """A slice's labels count for its generation, unlike those of other kinds."""
    if old is not None:
        before, after = old["metadata"], new["metadata"]
        if before.get("labels") != after.get("labels"):
            after["generation"] = before.get("generation", 0) + 1


def judge_slice(new: JsonObject, old: JsonObject | None, *, loopback: bool = False) -> list[Cause]:
    """What is wrong with a slice; ``loopback`` is for clusters whose pods have such addresses."""
    found: list[Cause] = []
    family = new["addressType"]
    if not family:
        found.append(required("addressType"))
    elif family not in _FAMILIES:
        found.append(unsupported("addressType", family, _FAMILIES))
    found += _slice_ports(new["ports"] or [])
    endpoints = new["endpoints"] or []
    if len(endpoints) > MOST_ENDPOINTS:
        found.append(too_many("endpoints", len(endpoints), MOST_ENDPOINTS))
    elif old is None or endpoints != (old["endpoints"] or []):
        for index, endpoint in enumerate(endpoints):
            found += _endpoint(f"endpoints[{index}]", endpoint, family, loopback=loopback)
    if old is not None:
        found += unequal("addressType", family, old["addressType"])
    return found


def _slice_ports(ports: list[JsonObject]) -> Iterator[Cause]:
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port["name"]
        if name:
            yield from each(f"{path}.name", name, formats.label(name))
        if name in [one["name"] for one in ports[:index]]:
            yield duplicate(f"{path}.name", name)
        if port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        if "appProtocol" in port:
            spelled = port["appProtocol"]
            yield from each(f"{path}.appProtocol", spelled, formats.qualified(spelled))


def _endpoint(path: str, endpoint: JsonObject, family: str, *, loopback: bool) -> Iterator[Cause]:
    addresses = endpoint["addresses"] or []
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), MOST_ADDRESSES)
    for index, address in enumerate(addresses):
        here = f"{path}.addresses"
        yield from _address(here, index, address, family, loopback=loopback)
    if "nodeName" in endpoint:
        name = endpoint["nodeName"]
        yield from each(f"{path}.nodeName", name, formats.subdomain(name))
    if "hostname" in endpoint:
        name = endpoint["hostname"]
        yield from each(f"{path}.hostname", name, formats.label(name))


def _address(
    path: str, index: int, address: str, family: str, *, loopback: bool
) -> Iterator[Cause]:
    here = f"{path}[{index}]"
    if family == "FQDN":
        wrong = formats.subdomain(address.removesuffix("."))
        if not wrong and "." not in address.removesuffix("."):
            wrong = ["should be a domain with at least two segments separated by dots"]
        yield from each(here, address, wrong)
    elif family in ("IPv4", "IPv6"):
        wrong = formats.ip(address) or (formats.canonical_ip(address) if family == "IPv6" else [])
        if wrong:
            yield from each(here, address, wrong)
            return
        if (":" in address) != (family == "IPv6"):
            yield invalid(path, address, f"must be an {family} address")
        yield from each(here, address, formats.endpoint_ip(address, loopback=loopback))


def fill(obj: JsonObject) -> None:
    for subset in obj.get("subsets") or []:
        for port in subset.get("ports") or []:
            port.setdefault("protocol", "TCP")


def judge(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    subsets = new.get("subsets") or []
    if old is not None and subsets == (old.get("subsets") or []):
        return []
    found: list[Cause] = []
    for index, subset in enumerate(subsets):
        found += _subset(f"subsets[{index}]", subset)
    return found


def _subset(path: str, subset: JsonObject) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(path, "must specify `addresses` or `notReadyAddresses`")
    for group in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(group) or []):
            here, ip = f"{path}.{group}[{index}]", address["ip"]
            yield from each(f"{here}.ip", ip, formats.ip(ip) or formats.endpoint_ip(ip))
            if address.get("hostname"):
                name = address["hostname"]
                yield from each(f"{here}.hostname", name, formats.label(name))
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        here, name = f"{path}.ports[{index}]", port.get("name", "")
        if name:
            yield from each(f"{here}.name", name, formats.label(name))
        elif len(ports) > 1:
            yield required(f"{here}.name")
        yield from each(f"{here}.port", port["port"], formats.port_number(port["port"]))
        if port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{here}.protocol", port["protocol"], PROTOCOLS)
