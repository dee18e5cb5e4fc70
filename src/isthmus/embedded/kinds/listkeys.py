"""How the lists inside built-in kinds merge, as their published schemas say it.

A path names a list ("*" stands for one of its elements); the keys tell its elements apart,
and no keys means a set of scalars. What is not listed here is replaced as a whole.
"""

from collections.abc import Mapping
from typing import TypeAlias

Lists: TypeAlias = dict[str, tuple[str, ...]]

METADATA: Lists = {"metadata.finalizers": (), "metadata.ownerReferences": ("uid",)}
METADATA_ATOMS = frozenset({"metadata.ownerReferences.*"})

_CONTAINER: Lists = {
    "env": ("name",),
    "ports": ("containerPort",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
}
_CONTAINER_APPLY: Lists = {
    "ports": ("containerPort", "protocol"),
    "resources.claims": ("name",),
    "restartPolicyRules.*.exitCodes.values": (),
}
_CONTAINER_ATOMS = frozenset(
    f"env.*.valueFrom.{source}"
    for source in ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
)
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def under(prefix: str, lists: Mapping[str, tuple[str, ...]]) -> Lists:
    """The same lists, one level deeper."""
    return {f"{prefix}.{path}": keys for path, keys in lists.items()}


def atoms_under(prefix: str, atoms: frozenset[str]) -> frozenset[str]:
    return frozenset(f"{prefix}.{path}" for path in atoms)


def _pod_spec() -> Lists:
    lists: Lists = {
        "hostAliases": ("ip",),
        "imagePullSecrets": ("name",),
        "resourceClaims": ("name",),
        "schedulingGates": ("name",),
        "topologySpreadConstraints": ("topologyKey",),
        "volumes": ("name",),
    }
    for containers in _CONTAINERS:
        lists[containers] = ("name",)
        lists |= under(f"{containers}.*", _CONTAINER)
    return lists


def _pod_spec_apply() -> Lists:
    lists: Lists = {
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
        "resources.claims": ("name",),
    }
    for containers in _CONTAINERS:
        lists |= under(f"{containers}.*", _CONTAINER_APPLY)
    return lists


def _pod_spec_atoms() -> frozenset[str]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    atoms = {
        "nodeSelector",
        "imagePullSecrets.*",
        "topologySpreadConstraints.*.labelSelector",
        f"affinity.nodeAffinity.{required}",
        "volumes.*.csi.nodePublishSecretRef",
        "volumes.*.ephemeral.volumeClaimTemplate.spec.selector",
        "volumes.*.ephemeral.volumeClaimTemplate.spec.dataSource",
    }
    for volume in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"):
        atoms.add(f"volumes.*.{volume}.secretRef")
    found = frozenset(atoms)
    for containers in _CONTAINERS:
        found |= atoms_under(f"{containers}.*", _CONTAINER_ATOMS)
    return found


def _key_defaults(prefix: str) -> dict[str, dict[str, str]]:
    return {f"{prefix}.{containers}.*.ports": {"protocol": "TCP"} for containers in _CONTAINERS}


CONDITIONS: Lists = {"status.conditions": ("type",)}

POD: Lists = under("spec", _pod_spec()) | CONDITIONS | {"status.podIPs": ("ip",)}
POD_APPLY: Lists = under("spec", _pod_spec_apply())
POD_KEYS = _key_defaults("spec")
POD_ATOMS = atoms_under("spec", _pod_spec_atoms())

WORKLOAD: Lists = under("spec.template", METADATA | under("spec", _pod_spec())) | CONDITIONS
WORKLOAD_APPLY: Lists = under("spec.template.spec", _pod_spec_apply())
WORKLOAD_KEYS = _key_defaults("spec.template.spec")
WORKLOAD_ATOMS = (
    atoms_under("spec.template", METADATA_ATOMS)
    | atoms_under("spec.template.spec", _pod_spec_atoms())
    | {"spec.selector"}
)
