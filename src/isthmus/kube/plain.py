"""The kinds that manifests of ours are of, for whoever carries objects to a server unread."""

from dataclasses import replace

from isthmus.kube.resources import Resource, untyped
from isthmus.model.wire import JsonObject

_EVERYWHERE = (
    ("v1", "Namespace", "namespaces"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
    ("isthmus.dev/v1alpha1", "Link", "links"),
    ("isthmus.dev/v1alpha1", "Grant", "grants"),
)
_NAMESPACED = (
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("v1", "Secret", "secrets"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Service", "services"),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("coordination.k8s.io/v1", "Lease", "leases"),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
)
KINDS: dict[str, Resource[JsonObject]] = {
    kind: untyped(version, kind, plural, namespaced=namespaced)
    for kinds, namespaced in ((_EVERYWHERE, False), (_NAMESPACED, True))
    for version, kind, plural in kinds
}
KINDS["Secret"] = replace(KINDS["Secret"], secret=True)
