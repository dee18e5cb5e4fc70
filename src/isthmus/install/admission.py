"""Has the API server itself hold the controller to what is its own.

Rights know kinds, not labels: whoever may write mirrors may write every Service. This policy closes
that gap, for a controller that is wrong as well as for one that was taken over. What it cannot see
is another object than the one that is written: a slice that carries our label may still name
somebody else's Service, and lead its callers elsewhere.
"""

from collections.abc import Iterator
from typing import NamedTuple

from isthmus.install.parts import everywhere
from isthmus.install.values import Values
from isthmus.model.names import (
    CONTROLLER,
    CREATED_NAMESPACE,
    MIRRORED,
    TRUST_SEEN,
)
from isthmus.model.wire import JsonObject

_GROUP = "admissionregistration.k8s.io"
_API = f"{_GROUP}/v1"


# Said although they are the defaults: a server takes the whole of it for one value, and for a
# conflict if it is left to it to complete what two apply.
_DEFAULTS: JsonObject = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}


class _Duty(NamedTuple):
    """What must hold for every write of some kinds."""

    group: str
    resource: str
    holds: str
    message: str


# Of an object that is changed, the old one counts as well: nothing is taken over by a label.
_MARKED = (
    f"variables.sides.all(one, has(one.metadata.labels) && '{MIRRORED}' in one.metadata.labels "
    f"&& one.metadata.labels['{MIRRORED}'] == 'true')"
)
_MADE = (
    f"variables.sides.all(one, has(one.metadata.labels) && '{CREATED_NAMESPACE}' in "
    "one.metadata.labels)"
)
_PLAIN = (
    "object == null || (object.spec.type == 'ClusterIP' && !has(object.spec.externalIPs) "
    "&& !has(object.spec.selector))"
)


def policy(values: Values) -> Iterator[JsonObject]:
    """The policy, and the binding that puts it in force."""
    account = f"system:serviceaccount:{values.namespace}:{CONTROLLER}"
    duties = _duties(values)
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": everywhere(CONTROLLER),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {**_DEFAULTS, "resourceRules": _rules(duties)},
            "matchConditions": [
                {"name": "controller", "expression": f"request.userInfo.username == '{account}'"}
            ],
            "variables": [
                {"name": "sides", "expression": "[object, oldObject].filter(one, one != null)"}
            ],
            "validations": [
                {
                    "expression": f"request.resource.resource != '{one.resource}' || ({one.holds})",
                    "message": one.message,
                    "reason": "Forbidden",
                }
                for one in duties
            ],
        },
    }
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": everywhere(CONTROLLER),
        "spec": {"policyName": CONTROLLER, "validationActions": ["Deny"]},
    }


def _duties(values: Values) -> list[_Duty]:
    mirrors = f'Isthmus writes only what is labelled {MIRRORED}: "true"'
    return [
        _Duty("", "services", _MARKED, mirrors),
        _Duty("", "services", _PLAIN, "mirrors are of type ClusterIP, without selector"),
        _Duty("discovery.k8s.io", "endpointslices", _MARKED, mirrors),
        _Duty("", "namespaces", _MADE, "Isthmus writes only namespaces that a Link has made"),
        _Duty(
            "",
            "configmaps",
            f"request.namespace == '{values.namespace}' && request.name == '{TRUST_SEEN}'",
            f"Isthmus writes only the ConfigMap {TRUST_SEEN}",
        ),
        _Duty(
            "coordination.k8s.io",
            "leases",
            f"request.namespace == '{values.namespace}' && request.name == '{CONTROLLER}'",
            f"Isthmus writes only the Lease {CONTROLLER}",
        ),
        _Duty(
            "isthmus.dev",
            "links",
            "object != null && oldObject != null && object.spec == oldObject.spec",
            "Isthmus changes no Link's spec",
        ),
    ]


def _rules(duties: list[_Duty]) -> list[JsonObject]:
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": [resource],
            "scope": "*",
        }
        for group, resource in dict.fromkeys((one.group, one.resource) for one in duties)
    ]
