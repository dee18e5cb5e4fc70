"""Role-based access control: may this user do that, by the roles and bindings in the store?"""

from collections.abc import Iterator, Sequence

from isthmus.embedded.principals import AUTHENTICATED, MASTERS, Attributes, Objects, User
from isthmus.model.wire import JsonObject

GROUP = "rbac.authorization.k8s.io"

# What every authenticated user may do in a fresh cluster (the roles system:discovery,
# system:basic-user and system:public-info-viewer, which cannot be edited here).
_EVERYBODY: tuple[JsonObject, ...] = (
    {
        "verbs": ["get"],
        "nonResourceURLs": [
            *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/readyz"),
            *("/openapi", "/openapi/*", "/version", "/version/"),
        ],
    },
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    },
)


def reason(user: User, wanted: Attributes, objects: Objects) -> str | None:
    """Why ``user`` may do what is wanted; nothing when no rule allows it."""
    if MASTERS in user.groups:
        return ""
    if AUTHENTICATED in user.groups and any(covers(rule, wanted) for rule in _EVERYBODY):
        return 'RBAC: allowed by the roles of the group "system:authenticated"'
    for binding in _bindings(wanted, objects):
        subjects = binding.get("subjects") or ()
        namespace = binding["metadata"].get("namespace", "")
        if any(_is(user, subject, namespace) for subject in subjects) and any(
            covers(rule, wanted) for rule in _rules(binding, objects)
        ):
            return f"RBAC: allowed by {_described(binding)}"
    return None


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


def _bindings(wanted: Attributes, objects: Objects) -> Iterator[JsonObject]:
    yield from objects.all(GROUP, "clusterrolebindings")
    if wanted.resource and wanted.namespace:
        yield from objects.all(GROUP, "rolebindings", wanted.namespace)


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


def _described(binding: JsonObject) -> str:
    metadata, role = binding["metadata"], binding["roleRef"]
    namespace = metadata.get("namespace", "")
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = f"{metadata['name']}/{namespace}" if namespace else metadata["name"]
    return f'{kind} "{name}" of {role["kind"]} "{role["name"]}"'
