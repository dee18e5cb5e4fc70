"""Role-based access control: may this user do that, by the roles and bindings in the store?"""

from collections.abc import Iterator, Sequence

from isthmus.embedded.access.principals import MASTERS, Attributes, Objects, User
from isthmus.embedded.kinds.bindings import GROUP
from isthmus.model.wire import JsonObject

_EVERYTHING: Sequence[JsonObject] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


def reason(user: User, wanted: Attributes, objects: Objects) -> str | None:
    """Why ``user`` may do what is wanted; nothing when no rule allows it."""
    if MASTERS in user.groups:
        return ""
    namespace = wanted.namespace if wanted.resource else ""
    for because, rules in _grants(user, namespace, objects):
        if any(covers(rule, wanted) for rule in rules):
            return because
    return None


def rules(user: User, namespace: str, objects: Objects) -> list[JsonObject]:
    """Every rule that counts for ``user`` in ``namespace``."""
    if MASTERS in user.groups:
        return list(_EVERYTHING)
    return [rule for _, granted in _grants(user, namespace, objects) for rule in granted]


def _grants(
    user: User, namespace: str, objects: Objects
) -> Iterator[tuple[str, Sequence[JsonObject]]]:
    """The rules that each role gives to ``user``, with the words for why it does."""
    for binding in _bindings(namespace, objects):
        home = binding["metadata"].get("namespace", "")
        subject = next((s for s in binding.get("subjects") or () if _is(user, s, home)), None)
        if subject:
            role = f'{binding["roleRef"]["kind"]} "{binding["roleRef"]["name"]}"'
            yield _because(_named(binding), role, subject), _rules(binding, objects)


def covers(rule: JsonObject, wanted: Attributes) -> bool:
    """Whether one ``PolicyRule`` allows what is wanted."""
    if not _among(wanted.verb, rule.get("verbs") or ()):
        return False
    if not wanted.resource:
        return any(_path_matches(wanted.path, url) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        _among(wanted.group, rule.get("apiGroups") or ())
        and any(_resource_matches(wanted, resource) for resource in rule.get("resources") or ())
        and (not names or (wanted.name != "" and wanted.name in names))
    )


def _among(value: str, allowed: Sequence[str]) -> bool:
    return "*" in allowed or value in allowed


def _resource_matches(wanted: Attributes, resource: str) -> bool:
    if resource == "*":
        return True
    if not wanted.subresource:
        return resource == wanted.resource
    return resource in (f"{wanted.resource}/{wanted.subresource}", f"*/{wanted.subresource}")


def _path_matches(path: str, pattern: str) -> bool:
    return path == pattern or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _bindings(namespace: str, objects: Objects) -> Iterator[JsonObject]:
    yield from objects.all(GROUP, "clusterrolebindings")
    if namespace:
        yield from objects.all(GROUP, "rolebindings", namespace)


def _rules(binding: JsonObject, objects: Objects) -> Sequence[JsonObject]:
    """The rules of the role that a binding names; a missing role grants nothing."""
    reference = binding["roleRef"]
    if reference["kind"] == "ClusterRole":
        role = objects.find(GROUP, "clusterroles", "", reference["name"])
    else:
        namespace = binding["metadata"].get("namespace", "")
        role = objects.find(GROUP, "roles", namespace, reference["name"])
    rules: Sequence[JsonObject] = (role or {}).get("rules") or ()
    return rules


def _is(user: User, subject: JsonObject, namespace: str) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return user.name == f"system:serviceaccount:{home}:{subject['name']}"
        case _:
            return False


def _named(binding: JsonObject) -> str:
    name, namespace = binding["metadata"]["name"], binding["metadata"].get("namespace", "")
    return f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'


def _because(binding: str, role: str, subject: JsonObject) -> str:
    name = "/".join(filter(None, (subject["name"], subject.get("namespace"))))
    return f'RBAC: allowed by {binding} of {role} to {subject["kind"]} "{name}"'
