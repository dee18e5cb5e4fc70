"""The built-in kinds of an embedded cluster, as one table.

Their content is defaulted and judged where users can get it wrong. There is no schema behind
them: an unknown field is kept, and ``fieldValidation=Strict`` finds none.
"""

from typing import Final

from isthmus.embedded import formats, listkeys
from isthmus.embedded.kinds import Kind

_META = listkeys.METADATA
_ATOMS = listkeys.METADATA_ATOMS
_CONDITIONS = listkeys.CONDITIONS

_CORE: Final = (
    Kind(
        group="",
        version="v1",
        name="Namespace",
        plural="namespaces",
        singular="namespace",
        namespaced=False,
        short_names=("ns",),
        has_status=True,
        lists=_META | _CONDITIONS,
        atoms=_ATOMS,
        name_rule=formats.label_name,
    ),
    Kind(
        group="",
        version="v1",
        name="Service",
        plural="services",
        singular="service",
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        lists=_META | _CONDITIONS | {"spec.ports": ("port",)},
        apply_lists={"spec.ports": ("port", "protocol")},
        key_defaults={"spec.ports": {"protocol": "TCP"}},
        zero={"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}},
        atoms=_ATOMS | {"spec.selector"},
        name_rule=formats.label_name,
    ),
    Kind(
        group="",
        version="v1",
        name="Endpoints",
        plural="endpoints",
        singular="endpoints",
        short_names=("ep",),
        lists=_META,
        atoms=_ATOMS,
    ),
    Kind(
        group="",
        version="v1",
        name="Pod",
        plural="pods",
        singular="pod",
        short_names=("po",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        lists=_META | listkeys.POD,
        apply_lists=listkeys.POD_APPLY,
        atoms=_ATOMS | listkeys.POD_ATOMS,
    ),
    Kind(
        group="",
        version="v1",
        name="Node",
        plural="nodes",
        singular="node",
        namespaced=False,
        short_names=("no",),
        has_status=True,
        lists=_META | _CONDITIONS | {"spec.podCIDRs": (), "status.addresses": ("type",)},
        atoms=_ATOMS,
    ),
    Kind(
        group="",
        version="v1",
        name="Secret",
        plural="secrets",
        singular="secret",
        lists=_META,
        atoms=_ATOMS,
    ),
    Kind(
        group="",
        version="v1",
        name="ConfigMap",
        plural="configmaps",
        singular="configmap",
        short_names=("cm",),
        lists=_META,
        atoms=_ATOMS,
    ),
    Kind(
        group="",
        version="v1",
        name="ServiceAccount",
        plural="serviceaccounts",
        singular="serviceaccount",
        short_names=("sa",),
        lists=_META | {"secrets": ("name",)},
        atoms=_ATOMS | {"secrets.*"},
    ),
    Kind(
        group="",
        version="v1",
        name="Event",
        plural="events",
        singular="event",
        short_names=("ev",),
        lists=_META,
        atoms=_ATOMS | {"involvedObject", "related"},
    ),
)

_WORKLOADS: Final = tuple(
    Kind(
        group="apps",
        version="v1",
        name=name,
        plural=f"{name.lower()}s",
        singular=name.lower(),
        short_names=(short,),
        categories=("all",),
        has_status=True,
        has_scale=name != "DaemonSet",
        has_generation=True,
        lists=_META | listkeys.WORKLOAD,
        apply_lists=listkeys.WORKLOAD_APPLY,
        atoms=_ATOMS | listkeys.WORKLOAD_ATOMS,
    )
    for name, short in (
        ("Deployment", "deploy"),
        ("StatefulSet", "sts"),
        ("DaemonSet", "ds"),
        ("ReplicaSet", "rs"),
    )
)

_RBAC: Final = tuple(
    Kind(
        group="rbac.authorization.k8s.io",
        version="v1",
        name=name,
        plural=f"{name.lower()}s",
        singular=name.lower(),
        namespaced=not name.startswith("Cluster"),
        lists=_META,
        atoms=_ATOMS | {"roleRef"},
        name_rule=formats.path_segment_name,
    )
    for name in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
)

_OTHERS: Final = (
    Kind(
        group="discovery.k8s.io",
        version="v1",
        name="EndpointSlice",
        plural="endpointslices",
        singular="endpointslice",
        has_generation=True,
        lists=_META,
        atoms=_ATOMS,
    ),
    Kind(
        group="coordination.k8s.io",
        version="v1",
        name="Lease",
        plural="leases",
        singular="lease",
        lists=_META,
        atoms=_ATOMS,
    ),
    Kind(
        group="apiextensions.k8s.io",
        version="v1",
        name="CustomResourceDefinition",
        plural="customresourcedefinitions",
        singular="customresourcedefinition",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        has_status=True,
        has_generation=True,
        lists=_META,
        apply_lists=_CONDITIONS,
        atoms=_ATOMS,
    ),
    Kind(
        group="policy",
        version="v1",
        name="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        singular="poddisruptionbudget",
        short_names=("pdb",),
        has_status=True,
        has_generation=True,
        lists=_META | _CONDITIONS,
        atoms=_ATOMS | {"spec.selector"},
    ),
    Kind(
        group="networking.k8s.io",
        version="v1",
        name="NetworkPolicy",
        plural="networkpolicies",
        singular="networkpolicy",
        short_names=("netpol",),
        has_generation=True,
        lists=_META,
        atoms=_ATOMS | {"spec.podSelector"},
    ),
    Kind(
        group="admissionregistration.k8s.io",
        version="v1",
        name="ValidatingAdmissionPolicy",
        plural="validatingadmissionpolicies",
        singular="validatingadmissionpolicy",
        namespaced=False,
        categories=("api-extensions",),
        has_status=True,
        has_generation=True,
        lists=_META | {"spec.matchConditions": ("name",), "spec.variables": ("name",)},
        apply_lists=_CONDITIONS,
        atoms=_ATOMS | {"spec.matchConstraints", "spec.paramKind", "spec.variables.*"},
    ),
    Kind(
        group="admissionregistration.k8s.io",
        version="v1",
        name="ValidatingAdmissionPolicyBinding",
        plural="validatingadmissionpolicybindings",
        singular="validatingadmissionpolicybinding",
        namespaced=False,
        categories=("api-extensions",),
        lists=_META,
        apply_lists={"spec.validationActions": ()},
        atoms=_ATOMS | {"spec.matchResources", "spec.paramRef"},
    ),
)

BUILTIN: Final[tuple[Kind, ...]] = (*_CORE, *_WORKLOADS, *_RBAC, *_OTHERS)
