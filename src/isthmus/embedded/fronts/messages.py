"""The protobuf messages that kubectl sends, as data: numbers, names and types of their fields.

kubectl speaks protobuf where it uses typed clients: ``create token``, ``auth can-i``,
``create namespace|configmap|secret|service|deployment|role …``. Only what these can say is here.

A field reads ``number name``, then ``:type`` unless it is a string. ``[type]`` is a list, ``map``
and ``bytemap`` map strings to strings and to bytes, a capital starts a message's name, ``-`` is
a field to skip. ``?`` marks fields whose zero value means something, all others are left out
when they are empty, as in JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_WITH_SPEC = "1 metadata:ObjectMeta, 3 status:-"
_BINDING = "1 metadata:ObjectMeta, 2 subjects:[Subject], 3 roleRef:RoleRef"
_ATTRIBUTES = (
    "1 resourceAttributes:ResourceAttributes?, 2 nonResourceAttributes:NonResourceAttributes?"
)
_SUBJECT = f"{_ATTRIBUTES}, 3 user, 4 groups:[string], 6 uid"

_TEXTS: Mapping[str, str] = {
    "ObjectMeta": (
        "1 name, 2 generateName, 3 namespace, 5 uid, 6 resourceVersion, 7 generation:int,"
        "8 creationTimestamp:time, 11 labels:map, 12 annotations:map,"
        "13 ownerReferences:[OwnerReference], 14 finalizers:[string]"
    ),
    "OwnerReference": (
        "1 kind, 3 name, 4 uid, 5 apiVersion, 6 controller:bool?, 7 blockOwnerDeletion:bool?"
    ),
    "LabelSelector": "1 matchLabels:map, 2 matchExpressions:[LabelSelectorRequirement]",
    "LabelSelectorRequirement": "1 key, 2 operator, 3 values:[string]",
    "meta.k8s.io/v1 DeleteOptions": (
        "1 gracePeriodSeconds:int?, 2 preconditions:Preconditions?, 3 orphanDependents:bool?,"
        "4 propagationPolicy:string?, 5 dryRun:[string]"
    ),
    "Preconditions": "1 uid:string?, 2 resourceVersion:string?",
    "v1 Namespace": f"{_WITH_SPEC}, 2 spec:NamespaceSpec",
    "NamespaceSpec": "1 finalizers:[string]",
    "v1 ConfigMap": "1 metadata:ObjectMeta, 2 data:map, 3 binaryData:bytemap, 4 immutable:bool?",
    "v1 Secret": (
        "1 metadata:ObjectMeta, 2 data:bytemap, 3 type, 4 stringData:map, 5 immutable:bool?"
    ),
    "v1 ServiceAccount": (
        "1 metadata:ObjectMeta, 3 imagePullSecrets:[Named], 4 automountServiceAccountToken:bool?"
    ),
    "Named": "1 name",
    "v1 Service": f"{_WITH_SPEC}, 2 spec:ServiceSpec",
    "ServiceSpec": (
        "1 ports:[ServicePort], 2 selector:map, 3 clusterIP, 4 type, 5 externalIPs:[string],"
        "7 sessionAffinity, 8 loadBalancerIP, 9 loadBalancerSourceRanges:[string],"
        "10 externalName, 11 externalTrafficPolicy, 12 healthCheckNodePort:int,"
        "13 publishNotReadyAddresses:bool, 17 ipFamilyPolicy:string?, 18 clusterIPs:[string],"
        "19 ipFamilies:[string], 20 allocateLoadBalancerNodePorts:bool?,"
        "21 loadBalancerClass:string?, 22 internalTrafficPolicy:string?,"
        "23 trafficDistribution:string?"
    ),
    "ServicePort": (
        "1 name, 2 protocol, 3 port:int, 4 targetPort:intstr, 5 nodePort:int, 6 appProtocol:string?"
    ),
    "apps/v1 Deployment": f"{_WITH_SPEC}, 2 spec:DeploymentSpec",
    "DeploymentSpec": (
        "1 replicas:int?, 2 selector:LabelSelector?, 3 template:PodTemplateSpec,"
        "4 strategy:DeploymentStrategy, 5 minReadySeconds:int, 6 revisionHistoryLimit:int?,"
        "7 paused:bool, 9 progressDeadlineSeconds:int?"
    ),
    "DeploymentStrategy": "1 type, 2 rollingUpdate:RollingUpdate?",
    "RollingUpdate": "1 maxUnavailable:intstr?, 2 maxSurge:intstr?",
    "v1 Pod": f"{_WITH_SPEC}, 2 spec:PodSpec",
    "PodTemplateSpec": "1 metadata:ObjectMeta, 2 spec:PodSpec",
    "PodSpec": (
        "2 containers:[Container], 3 restartPolicy, 4 terminationGracePeriodSeconds:int?,"
        "6 dnsPolicy, 7 nodeSelector:map, 8 serviceAccountName, 9 serviceAccount, 10 nodeName,"
        "16 hostname, 17 subdomain, 19 schedulerName, 20 initContainers:[Container]"
    ),
    "Container": (
        "1 name, 2 image, 3 command:[string], 4 args:[string], 5 workingDir,"
        "6 ports:[ContainerPort], 7 env:[EnvVar], 8 resources:Resources,"
        "13 terminationMessagePath, 14 imagePullPolicy, 16 stdin:bool, 17 stdinOnce:bool,"
        "18 tty:bool, 20 terminationMessagePolicy"
    ),
    "ContainerPort": "1 name, 2 hostPort:int, 3 containerPort:int, 4 protocol, 5 hostIP",
    "EnvVar": "1 name, 2 value",
    "Resources": "",
    "authentication.k8s.io/v1 TokenRequest": f"{_WITH_SPEC}, 2 spec:TokenRequestSpec",
    "TokenRequestSpec": (
        "1 audiences:[string], 3 boundObjectRef:BoundObjectReference?, 4 expirationSeconds:int?"
    ),
    "BoundObjectReference": "1 kind, 2 apiVersion, 3 name, 4 uid",
    "authentication.k8s.io/v1 TokenReview": f"{_WITH_SPEC}, 2 spec:TokenReviewSpec",
    "TokenReviewSpec": "1 token, 2 audiences:[string]",
    "authentication.k8s.io/v1 SelfSubjectReview": "1 metadata:ObjectMeta, 2 status:-",
    "authorization.k8s.io/v1 SelfSubjectAccessReview": f"{_WITH_SPEC}, 2 spec:AccessSpec",
    "authorization.k8s.io/v1 SubjectAccessReview": f"{_WITH_SPEC}, 2 spec:SubjectAccessSpec",
    "authorization.k8s.io/v1 LocalSubjectAccessReview": f"{_WITH_SPEC}, 2 spec:SubjectAccessSpec",
    "authorization.k8s.io/v1 SelfSubjectRulesReview": f"{_WITH_SPEC}, 2 spec:RulesSpec",
    "RulesSpec": "1 namespace",
    "AccessSpec": _ATTRIBUTES,
    "SubjectAccessSpec": _SUBJECT,
    "ResourceAttributes": (
        "1 namespace, 2 verb, 3 group, 4 version, 5 resource, 6 subresource, 7 name"
    ),
    "NonResourceAttributes": "1 path, 2 verb",
    "rbac.authorization.k8s.io/v1 Role": "1 metadata:ObjectMeta, 2 rules:[PolicyRule]",
    "rbac.authorization.k8s.io/v1 ClusterRole": (
        "1 metadata:ObjectMeta, 2 rules:[PolicyRule], 3 aggregationRule:AggregationRule?"
    ),
    "rbac.authorization.k8s.io/v1 RoleBinding": _BINDING,
    "rbac.authorization.k8s.io/v1 ClusterRoleBinding": _BINDING,
    "PolicyRule": (
        "1 verbs:[string], 2 apiGroups:[string], 3 resources:[string], 4 resourceNames:[string],"
        "5 nonResourceURLs:[string]"
    ),
    "AggregationRule": "1 clusterRoleSelectors:[LabelSelector]",
    "Subject": "1 kind, 2 apiGroup, 3 name, 4 namespace",
    "RoleRef": "1 apiGroup, 2 kind, 3 name",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message."""

    name: str
    type: str
    repeated: bool = False
    kept: bool = False  # even when it is empty


def _field(text: str) -> tuple[int, Field]:
    number, _, rest = text.strip().partition(" ")
    name, _, kind = rest.partition(":")
    bare = (kind or "string").removesuffix("?")
    repeated = bare.startswith("[")
    return int(number), Field(name, bare.strip("[]"), repeated, kind.endswith("?"))


MESSAGES: Mapping[str, Mapping[int, Field]] = {
    name: dict(_field(text) for text in fields.split(",") if text)
    for name, fields in _TEXTS.items()
}
