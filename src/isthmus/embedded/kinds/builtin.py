"""The built-in kinds of an embedded cluster, as one table.

Their content is decoded, defaulted and judged like the real server's where users can get it
wrong. Admission policies are stored and not enforced; workloads run where there is a machine.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from isthmus.embedded.kinds import (
    bindings,
    crdrules,
    endpoints,
    events,
    formats,
    listkeys,
    services,
    settings,
    shapes,
    workloads,
)
from isthmus.embedded.kinds.kind import Kind

_META = listkeys.METADATA
_ATOMS = listkeys.METADATA_ATOMS
_CONDITIONS = listkeys.CONDITIONS

# Where types are called otherwise than the first word of their group.
_TYPES = {
    "": "core",
    "admissionregistration.k8s.io": "admission",
    "apiextensions.k8s.io": "crd",
}


def _kind(group: str, name: str, plural: str = "") -> Kind:
    """What the built-in kinds have in common."""
    shape = f"{_TYPES.get(group, group.partition('.')[0])}.{name}"
    return Kind(
        group=group,
        version="v1",
        name=name,
        plural=plural or f"{name.lower()}s",
        singular=name.lower(),
        shape=shape,
        zero=shapes.zero(shape),
        unknown=partial(shapes.unknown, shape),
        lists=_META,
        atoms=_ATOMS,
    )


_CORE: Final = (
    replace(
        _kind("", "Namespace"),
        namespaced=False,
        short_names=("ns",),
        has_status=True,
        lists=_META | _CONDITIONS,
        name_rule=formats.label_name,
        fill=settings.fill_namespace,
        prepare=settings.prepare_namespace,
        judge=settings.judge_namespace,
    ),
    replace(
        _kind("", "Service"),
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        lists=_META | _CONDITIONS | {"spec.ports": ("port",)},
        apply_lists={"spec.ports": ("port", "protocol")},
        key_defaults={"spec.ports": {"protocol": "TCP"}},
        atoms=_ATOMS | {"spec.selector"},
        name_rule=formats.label_name,
        fill=services.fill,
        prepare=services.prepare,
        judge=services.judge,
    ),
    replace(
        _kind("", "Endpoints", "endpoints"),
        short_names=("ep",),
        fill=endpoints.fill,
        judge=endpoints.judge,
    ),
    replace(
        _kind("", "Pod"),
        short_names=("po",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        lists=_META | listkeys.POD,
        apply_lists=listkeys.POD_APPLY,
        key_defaults=listkeys.POD_KEYS,
        atoms=_ATOMS | listkeys.POD_ATOMS,
        fill=workloads.fill_pod,
        prepare=workloads.prepare_pod,
        judge=workloads.judge_pod,
    ),
    replace(
        _kind("", "Node"),
        namespaced=False,
        short_names=("no",),
        has_status=True,
        lists=_META | _CONDITIONS | {"spec.podCIDRs": (), "status.addresses": ("type",)},
    ),
    replace(
        _kind("", "Secret"),
        fill=settings.fill_secret,
        judge=settings.judge_secret,
    ),
    replace(
        _kind("", "ConfigMap"),
        short_names=("cm",),
        judge=settings.judge_config,
    ),
    replace(
        _kind("", "ServiceAccount"),
        short_names=("sa",),
        lists=_META | {"secrets": ("name",)},
        atoms=_ATOMS | {"secrets.*"},
    ),
    replace(
        _kind("", "Event"),
        short_names=("ev",),
        atoms=_ATOMS | {"involvedObject", "related"},
        name_rule=formats.path_segment_name,
        judge=events.judge,
    ),
)

_WORKLOADS: Final = tuple(
    replace(
        _kind("apps", name),
        short_names=(short,),
        categories=("all",),
        has_status=True,
        has_scale=name != "DaemonSet",
        has_generation=True,
        lists=_META | listkeys.WORKLOAD,
        apply_lists=listkeys.WORKLOAD_APPLY,
        key_defaults=listkeys.WORKLOAD_KEYS,
        atoms=_ATOMS | listkeys.WORKLOAD_ATOMS,
        fill=fill,
        judge=judge,
    )
    for name, short, fill, judge in (
        ("Deployment", "deploy", workloads.fill_deployment, workloads.judge_deployment),
        ("StatefulSet", "sts", workloads.fill_stateful, workloads.judge_stateful),
        ("DaemonSet", "ds", workloads.fill_daemon, workloads.judge_daemon),
        ("ReplicaSet", "rs", workloads.fill_replicas, workloads.judge_replicas),
    )
)

_ROLES: Final = tuple(
    replace(
        _kind(bindings.GROUP, name),
        namespaced=not name.startswith("Cluster"),
        name_rule=formats.path_segment_name,
        judge=judge,
    )
    for name, judge in (
        ("Role", bindings.judge_role),
        ("ClusterRole", bindings.judge_cluster_role),
    )
)

_BINDINGS: Final = tuple(
    replace(
        _kind(bindings.GROUP, name),
        namespaced=not name.startswith("Cluster"),
        atoms=_ATOMS | {"roleRef"},
        name_rule=formats.path_segment_name,
        fill=bindings.fill,
        judge=judge,
    )
    for name, judge in (
        ("RoleBinding", bindings.judge_namespaced),
        ("ClusterRoleBinding", bindings.judge_cluster),
    )
)

_OTHERS: Final = (
    replace(
        _kind("discovery.k8s.io", "EndpointSlice"),
        has_generation=True,
        fill=endpoints.fill_slice,
        prepare=endpoints.prepare_slice,
        judge=endpoints.judge_slice,
    ),
    replace(
        _kind("events.k8s.io", "Event"),
        short_names=("ev",),
        atoms=_ATOMS | {"regarding", "related"},
        judge=events.judge_strictly,
        view=events.VIEW,
    ),
    replace(
        _kind("coordination.k8s.io", "Lease"),
        judge=settings.judge_lease,
    ),
    replace(
        _kind("apiextensions.k8s.io", "CustomResourceDefinition"),
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        has_status=True,
        has_generation=True,
        apply_lists=_CONDITIONS,
        fill=crdrules.fill,
        prepare=crdrules.prepare,
        judge=crdrules.judge,
    ),
    replace(
        _kind("policy", "PodDisruptionBudget"),
        short_names=("pdb",),
        has_status=True,
        has_generation=True,
        lists=_META | _CONDITIONS,
        atoms=_ATOMS | {"spec.selector"},
    ),
    replace(
        _kind("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
        short_names=("netpol",),
        has_generation=True,
        atoms=_ATOMS | {"spec.podSelector"},
    ),
    replace(
        _kind(
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
        ),
        namespaced=False,
        categories=("api-extensions",),
        has_status=True,
        has_generation=True,
        lists=_META | {"spec.matchConditions": ("name",), "spec.variables": ("name",)},
        apply_lists=_CONDITIONS,
        atoms=_ATOMS | {"spec.matchConstraints", "spec.paramKind", "spec.variables.*"},
    ),
    replace(
        _kind("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        namespaced=False,
        categories=("api-extensions",),
        apply_lists={"spec.validationActions": ()},
        atoms=_ATOMS | {"spec.matchResources", "spec.paramRef"},
    ),
)

BUILTIN: Final[tuple[Kind, ...]] = (*_CORE, *_WORKLOADS, *_ROLES, *_BINDINGS, *_OTHERS)


def builtin(*, loopback: bool) -> tuple[Kind, ...]:
    """The built-in kinds; ``loopback`` lets EndpointSlices name addresses that no real cluster
    accepts, for pods that run on one."""
    judge = partial(endpoints.judge_slice, loopback=loopback)
    return tuple(
        replace(kind, judge=judge) if kind.name == "EndpointSlice" else kind for kind in BUILTIN
    )
