"""What a mirror is called, and which labels and annotations of the original it keeps."""

from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from isthmus.model import names, syntax
from isthmus.model.exports import Export
from isthmus.model.links import Link

# Kubernetes keeps these for itself, with all names under them: node pools, topology, load
# balancers, kubectl's notes. They mean something in the cluster they were written in only.
RESERVED = ("kubernetes.io", "k8s.io")
FOR_PEOPLE = "app.kubernetes.io"  # the exception: recommended labels

# Ours, Linkerd's, and those of tools that would adopt the mirror as theirs, and delete it.
NEVER_COPIED = (
    "mirror.linkerd.io/*",
    "multicluster.linkerd.io/*",
    "isthmus.dev/*",
    "argocd.argoproj.io/*",
    "kustomize.toolkit.fluxcd.io/*",
    "helm.toolkit.fluxcd.io/*",
    "meta.helm.sh/*",
    "helm.sh/*",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
    "objectset.rio.cattle.io/*",
    "kapp.k14s.io/*",
    "cloud.google.com/*",
    "networking.gke.io/*",
)
LONGEST_VALUE = 4096  # bytes of an annotation that is worth carrying to another cluster
ROOM = 128 * 1024  # bytes of all annotations; the API server takes twice as much, ours included


def mirror_name(export: Export, link: Link) -> str:
    wanted = _filled(link.spec.naming, export, link)
    return names.shortened(wanted, (link.uid, export.namespace, export.name))


def endpoint_mirror_name(export: Export, hostname: str, link: Link) -> str:
    wanted = _filled(link.spec.endpoint_naming, export, link).replace("{hostname}", hostname)
    return names.shortened(wanted, (link.uid, export.namespace, export.name, hostname))


def _filled(pattern: str, export: Export, link: Link) -> str:
    # Not str.format: the pattern is a user's, and format would let it look inside our values.
    return pattern.replace("{service}", export.name).replace("{cluster}", link.cluster)


def copied_labels(export: Export, link: Link) -> dict[str, str]:
    return {
        key: value
        for key, value in export.labels.items()
        if _is_kept(key, link.spec.excluded_labels) and syntax.is_label_value(value)
    }


def copied_annotations(export: Export, link: Link) -> dict[str, str]:
    copied: dict[str, str] = {}
    room = ROOM
    for key, value in sorted(export.annotations.items()):
        size = len(value.encode())
        if size > LONGEST_VALUE or not _is_kept(key, link.spec.excluded_annotations):
            continue
        room -= len(key) + size
        if room < 0:
            break
        copied[key] = value
    return copied


def carried(export: Export) -> Export:
    """Return ``export`` without the annotations that no link would copy: they need not travel."""
    kept = {
        key: value
        for key, value in export.annotations.items()
        if len(value) <= LONGEST_VALUE and _is_kept(key, ())
    }
    return replace(export, annotations=kept)


@lru_cache(maxsize=4096)  # thousands of Services have the same few keys
def _is_kept(key: str, excluded: tuple[str, ...]) -> bool:
    return (
        syntax.is_qualified_name(key)
        and not _is_reserved(key)
        and not matches(key, NEVER_COPIED)
        and not matches(key, excluded)
    )


def _is_reserved(key: str) -> bool:
    prefix = "." + key.rpartition("/")[0]
    return prefix != f".{FOR_PEOPLE}" and any(prefix.endswith(f".{one}") for one in RESERVED)


def matches(key: str, patterns: Iterable[str]) -> bool:
    """``prefix/*`` matches keys under exactly that prefix; anything else matches exactly."""
    prefix, slash, _ = key.partition("/")
    return any(
        pattern == key or (slash and pattern.endswith("/*") and pattern[:-2] == prefix)
        for pattern in patterns
    )
