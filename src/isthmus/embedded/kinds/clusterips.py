"""The addresses of Services and their families, in a cluster that has IPv4 only."""

from collections.abc import Iterator

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import duplicate, each, invalid, unsupported
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

FIXED = "may not change once set"
HEADLESS = ["None"]
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_SEVERAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


def prepare(spec: JsonObject, before: JsonObject) -> None:
    """Complete what a client has left out; ``before`` is empty when the Service is new."""
    if before:
        _normalize(spec, before)
    elif spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] == "ExternalName":
        return
    asked = spec.get("ipFamilyPolicy") or before.get("ipFamilyPolicy")
    policy = asked or ("RequireDualStack" if _anywhere(spec) else "SingleStack")
    families = spec.get("ipFamilies") or before.get("ipFamilies") or _first_family(spec)
    if policy == "SingleStack" and families == before.get("ipFamilies"):
        families = families[:1]  # A change of the policy alone gives up the second family.
    elif policy != "SingleStack" and _anywhere(spec) and len(before.get("ipFamilies") or []) < 2:
        families = [*families, *(one for one in _FAMILIES if one not in families)]
    spec |= {"ipFamilies": families, "ipFamilyPolicy": policy}


def _first_family(spec: JsonObject) -> list[str]:
    """The family of a Service that names none: what the address tells, if the cluster has it."""
    ips = spec.get("clusterIPs") or HEADLESS
    return ["IPv4"] if _family(ips[0]) == "IPv4" else []


def _anywhere(spec: JsonObject) -> bool:
    """Whether endpoints of any family will do: the Service is headless and has no selector."""
    return spec.get("clusterIP") == "None" and not spec.get("selector")


def _normalize(spec: JsonObject, before: JsonObject) -> None:
    """Keep clusterIP and clusterIPs together for clients that know one of them only."""
    old_ip, new_ip = before.get("clusterIP", ""), spec.get("clusterIP", "")
    same = spec.get("clusterIPs") == before.get("clusterIPs")
    if not spec.get("clusterIPs") and old_ip == new_ip and before.get("clusterIPs"):
        spec["clusterIPs"] = before["clusterIPs"]
    elif old_ip != new_ip and same:
        if new_ip:
            spec["clusterIPs"] = [new_ip]
        else:
            spec.pop("clusterIPs", None)


def judge(spec: JsonObject) -> Iterator[Cause]:
    """What is wrong with addresses and families, whatever the cluster has."""
    if spec["type"] == "ExternalName":
        return
    ip, ips = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if ip and ips and ips[0] != ip:
        yield invalid("spec.clusterIPs", ips, "first value must match `clusterIP`")
    if ips and not ip:
        yield invalid("spec.clusterIPs", ips, "must be empty when `clusterIP` is not specified")
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield unsupported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        elif family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy", "SingleStack")
    if policy not in _POLICIES:
        yield unsupported("spec.ipFamilyPolicy", policy, _POLICIES)
    if ips[:1] == HEADLESS:
        if len(ips) > 1:
            yield invalid("spec.clusterIPs", ips, "'None' must be the first and only value")
        return
    wrong = [each(f"spec.clusterIPs[{at}]", one, formats.ip(one)) for at, one in enumerate(ips)]
    yield from (cause for causes in wrong for cause in causes)
    if len(ips) > 2:
        yield invalid("spec.clusterIPs", ips, "may only hold up to 2 values")
    if not any(wrong):
        yield from _paired(ips, families)


def _paired(ips: list[str], families: list[str]) -> Iterator[Cause]:
    found = [_family(ip) for ip in ips]
    if len(ips) > 1 and len(set(found)) == 1:
        text = "may specify no more than one IP for each IP family"
        yield invalid("spec.clusterIPs", ips, text)
    for index, (family, wanted) in enumerate(zip(found, families, strict=False)):
        if wanted in _FAMILIES and family != wanted:
            text = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"spec.clusterIPs[{index}]", ips[index], text)


def _family(ip: str) -> str:
    return "IPv6" if ":" in ip else "IPv4"


def unserved(spec: JsonObject, before: JsonObject) -> list[Cause]:
    """What a cluster without IPv6 refuses; ``before`` is empty when the Service is new."""
    if spec["type"] == "ExternalName":
        return []
    ips, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    policy = spec.get("ipFamilyPolicy")
    found: list[Cause] = []
    if policy == "SingleStack":
        named = (("cluster IPs", ips), ("IP families", families))
        texts = [_SEVERAL.format(what) for what, those in named if len(those) == 2]
        found += each("spec.ipFamilyPolicy", policy, texts)
    elif families and len(families) < len(before.get("ipFamilies") or []):
        text = "must be 'SingleStack' to release the secondary IP family"
        found.append(invalid("spec.ipFamilyPolicy", policy, text))
    for index in range(len(families), len(ips)):
        if _family(ips[index]) == "IPv6":
            text = "IPv6 is not configured on this cluster"
            found.append(invalid(f"spec.clusterIPs[{index}]", ips, text))
    if found or _anywhere(spec):
        return found
    if policy == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", policy, text))
    return found + [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family == "IPv6"
    ]


def unmoved(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    if "ExternalName" in (spec["type"], before["type"]):
        return
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(new) == len(old):
        for index, (one, other) in enumerate(zip(new, old, strict=True)):
            if one != other:
                yield invalid(f"spec.clusterIPs[{index}]", new, FIXED)
    elif not new:
        yield invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield invalid("spec.clusterIPs[0]", new, FIXED)
    headless = old[:1] == ["None"], new[:1] == ["None"]
    families = spec.get("ipFamilies") or []
    if not any(headless) and families[:1] != (before.get("ipFamilies") or [])[:1]:
        yield invalid("spec.ipFamilies[0]", families, FIXED)
