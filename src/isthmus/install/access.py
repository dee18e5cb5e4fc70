"""Who may do what: one account for each workload, and rights for the controller alone.

Proxies need no right at all: they prove who they are by a token that the API server vouches for,
and hear everything else from the controller. What the controller may do is exactly what it does;
``tests/install/test_rights.py`` watches it on a real API server.
"""

from collections.abc import Iterator

from isthmus.install.parts import everywhere, inside
from isthmus.install.values import Values
from isthmus.model.names import (
    CONTROLLER,
    EGRESS,
    GATEWAY,
    TRUST,
    TRUST_ROTATION,
    TRUST_SEEN,
)
from isthmus.model.wire import JsonObject

_RBAC = "rbac.authorization.k8s.io"
_FOLLOWED = ("list", "watch")
_WRITTEN = ("list", "watch", "create", "update", "delete")


def accounts(values: Values) -> Iterator[JsonObject]:
    """The accounts. No token is mounted unless a pod asks for it."""
    for name in (CONTROLLER, GATEWAY, EGRESS):
        yield {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": inside(values, name),
            "automountServiceAccountToken": False,
        }


def rights(values: Values) -> Iterator[JsonObject]:
    """The controller's rights in the cluster, and those in its own namespace."""
    for kind, metadata, rules in (
        ("ClusterRole", everywhere(CONTROLLER), _everywhere(values)),
        ("Role", inside(values, CONTROLLER), _at_home()),
    ):
        yield {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
        yield {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": CONTROLLER},
            "subjects": [
                {"kind": "ServiceAccount", "name": CONTROLLER, "namespace": values.namespace}
            ],
        }


def _everywhere(values: Values) -> list[JsonObject]:
    rules = [
        _rule("", "services", *_WRITTEN),
        _rule("discovery.k8s.io", "endpointslices", *_WRITTEN),
        _rule("", "namespaces", "get", *_FOLLOWED, "create"),
        _rule("", "pods", *_FOLLOWED),
        _rule("isthmus.dev", "links", *_FOLLOWED, "patch"),
        _rule("isthmus.dev", "grants", *_FOLLOWED),
        {
            **_rule("isthmus.dev", "links/status", "update"),
            "resources": ["links/status", "grants/status"],
        },
        _rule("events.k8s.io", "events", "create"),
        _rule("authentication.k8s.io", "tokenreviews", "create"),
    ]
    if values.remove_namespaces:
        # Whether a namespace is empty can only be said by whoever may list everything in it.
        rules += [_rule("", "namespaces", "delete"), _rule("*", "*", "list")]
    return rules


def _at_home() -> list[JsonObject]:
    """In the controller's own namespace. Links name the Secrets with their credentials, so that
    those have no names that could stand here; whatever creates cannot be held to one either."""
    return [
        _rule("", "secrets", *_FOLLOWED),
        {**_rule("", "configmaps", *_FOLLOWED), "resourceNames": [TRUST, TRUST_ROTATION]},
        _rule("", "configmaps", "create"),
        {**_rule("", "configmaps", "patch"), "resourceNames": [TRUST_SEEN]},
        _rule("coordination.k8s.io", "leases", "create"),
        {**_rule("coordination.k8s.io", "leases", "get", "update"), "resourceNames": [CONTROLLER]},
    ]


def _rule(group: str, resource: str, *verbs: str) -> JsonObject:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
