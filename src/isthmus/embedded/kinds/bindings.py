"""Roles and the bindings that give them to somebody."""

from collections.abc import Iterator

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import each, invalid, required, unsupported
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def fill(obj: JsonObject) -> None:
    if not obj["roleRef"]["apiGroup"]:
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or []:
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", GROUP)


def judge_namespaced(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    return _binding(new, old, ("Role", "ClusterRole"))


def judge_cluster(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    return _binding(new, old, ("ClusterRole",))


def judge_role(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    return list(_rules(new, namespaced=True))


def judge_cluster_role(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    return list(_rules(new, namespaced=False))


def _binding(new: JsonObject, old: JsonObject | None, kinds: tuple[str, ...]) -> list[Cause]:
    found: list[Cause] = []
    role = new["roleRef"]
    if role["apiGroup"] != GROUP:
        found.append(unsupported("roleRef.apiGroup", role["apiGroup"], (GROUP,)))
    if role["kind"] not in kinds:
        found.append(unsupported("roleRef.kind", role["kind"], kinds))
    if not role["name"]:
        found.append(required("roleRef.name"))
    for index, subject in enumerate(new.get("subjects") or []):
        found += _subject(f"subjects[{index}]", subject, namespaced="Role" in kinds)
    if old is not None and role != old["roleRef"]:
        shown = {"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]}
        found.append(invalid("roleRef", shown, "cannot change roleRef"))
    return found


def _subject(path: str, subject: JsonObject, *, namespaced: bool) -> Iterator[Cause]:
    name, group = subject["name"], subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if subject["kind"] not in _SUBJECTS:
        yield unsupported(f"{path}.kind", subject["kind"], _SUBJECTS)
    elif subject["kind"] == "ServiceAccount":
        yield from each(f"{path}.name", name, formats.subdomain(name) if name else [])
        if group:
            yield unsupported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif group != GROUP:
        yield unsupported(f"{path}.apiGroup", group, (GROUP,))


def _rules(role: JsonObject, *, namespaced: bool) -> Iterator[Cause]:
    for index, rule in enumerate(role["rules"] or []):
        path, urls = f"rules[{index}]", rule.get("nonResourceURLs")
        if not rule["verbs"]:
            yield required(f"{path}.verbs", "verbs must contain at least one value")
        if urls:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, text)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, text)
            continue
        if not rule.get("apiGroups"):
            text = "resource rules must supply at least one api group"
            yield required(f"{path}.apiGroups", text)
        if not rule.get("resources"):
            text = "resource rules must supply at least one resource"
            yield required(f"{path}.resources", text)
