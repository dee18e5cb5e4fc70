"""What a mirror is called, and which labels and annotations of the original it keeps."""

from collections.abc import Iterable, Mapping

from isthmus.model import names
from isthmus.model.exports import Export
from isthmus.model.links import Link

# Kept by tools that would adopt the mirror as their own, and delete it; and keys whose meaning
# belongs to the cluster, the node pool or the cloud that the original lives in.
NEVER_COPIED = (
    "mirror.linkerd.io/*",
    "multicluster.linkerd.io/*",
    "isthmus.dev/*",
    "kubernetes.io/*",
    "endpointslice.kubernetes.io/*",
    "endpoints.kubernetes.io/*",
    "service.kubernetes.io/*",
    "kubectl.kubernetes.io/*",
    "argocd.argoproj.io/*",
    "kustomize.toolkit.fluxcd.io/*",
    "helm.toolkit.fluxcd.io/*",
    "meta.helm.sh/*",
    "helm.sh/*",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
    "cloud.google.com/*",
    "service.beta.kubernetes.io/*",
    "networking.gke.io/*",
)
LONGEST_VALUE = 4096  # of an annotation that is worth carrying to another cluster


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
    return _copied(export.labels, link.spec.excluded_labels)


def copied_annotations(export: Export, link: Link) -> dict[str, str]:
    return _copied(export.annotations, link.spec.excluded_annotations)


def _copied(source: Mapping[str, str], excluded: tuple[str, ...]) -> dict[str, str]:
    return {
        key: value
        for key, value in source.items()
        if len(value) <= LONGEST_VALUE and not matches(key, (*NEVER_COPIED, *excluded))
    }


def matches(key: str, patterns: Iterable[str]) -> bool:
    """``prefix/*`` matches keys under exactly that prefix; anything else matches exactly."""
    prefix, slash, _ = key.partition("/")
    return any(
        pattern == key or (slash and pattern.endswith("/*") and pattern[:-2] == prefix)
        for pattern in patterns
    )
