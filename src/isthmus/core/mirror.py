"""The Service that stands for an export, or for one of its pods: what it must look like."""

from msgspec.structs import replace

from isthmus.core import naming
from isthmus.core.link import is_headless
from isthmus.core.world import Claim, LinkView
from isthmus.model import names
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.objects import Key, Metadata, Service, ServicePort, ServiceSpec


def remote_name(claim: Claim, link: Link) -> str:
    """Return what the mirror stands for: the full name in the target cluster."""
    namespace, service = claim.export
    return names.authority(namespace, service, link.spec.cluster_domain, claim.hostname)


def owner(metadata: Metadata) -> str:
    """Return the UID of the link that an object was made for: label and annotation say it,
    never the name. Empty if it is not ours."""
    if metadata.labels.get(names.MIRRORED) != "true":
        return ""
    return metadata.annotations.get(names.LINK_UID, "")


def stands_for(metadata: Metadata, claim: Claim, link: Link) -> bool:
    """Tell whether an object is the mirror that ``claim`` asks for."""
    known = metadata.annotations.get(names.REMOTE_NAME)
    return owner(metadata) == claim.link_uid and known == remote_name(claim, link)


def ownership(claim: Claim, export: Export, link: Link) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels and annotations that mark an object as ours, and as whose mirror."""
    labels = {names.MIRRORED: "true", names.CLUSTER: link.cluster}
    if claim.hostname:
        labels[names.HEADLESS_MIRROR] = naming.mirror_name(export, link)
    annotations = {
        names.REMOTE_NAME: remote_name(claim, link),
        names.LINK_UID: link.uid,
        names.REMOTE_UID: export.uid,
    }
    return labels, annotations


def desired(key: Key, claim: Claim, view: LinkView, observed: Service | None) -> Service:
    """Return the mirror that ``claim`` wants under the name ``key``."""
    link, export = view.link, view.exports[claim.export]
    labels, annotations = ownership(claim, export, link)
    if not claim.hostname:
        labels = naming.copied_labels(export, link) | labels
        annotations = naming.copied_annotations(export, link) | annotations
    headless = not claim.hostname and is_headless(export, link, observed)
    return Service(
        metadata=Metadata(
            namespace=key.namespace,
            name=key.name,
            labels=labels,
            annotations=annotations | {names.REMOTE_VERSION: export.version},
        ),
        spec=ServiceSpec(
            cluster_ip="None" if headless else "",
            ports=tuple(
                ServicePort(
                    port=port.port,
                    name=port.name,
                    target_port=port.port if port.target_port is None else port.target_port,
                    app_protocol=port.app_protocol,
                )
                for port in export.ports
            ),
        ),
    )


def changed_shape(observed: Service, wanted: Service) -> bool:
    """Tell whether only a new Service can be what is wanted: a cluster IP cannot be changed."""
    return (observed.spec.cluster_ip == "None") != (wanted.spec.cluster_ip == "None")


def repaired(observed: Service, wanted: Service) -> Service | None:
    """Return ``observed`` turned into ``wanted``, or None if it already is.

    What the server assigned stays. The remote version is information: it is brought up to
    date by the next write that has a reason, and is no reason itself.
    """
    version = {names.REMOTE_VERSION: wanted.metadata.annotations[names.REMOTE_VERSION]}
    metadata = replace(
        observed.metadata,
        labels=wanted.metadata.labels,
        annotations=wanted.metadata.annotations,
    )
    spec = replace(
        wanted.spec,
        cluster_ip=observed.spec.cluster_ip,
        cluster_ips=observed.spec.cluster_ips,
        ip_families=observed.spec.ip_families,
        ip_family_policy=observed.spec.ip_family_policy,
    )
    same = (
        observed.spec == spec
        and observed.metadata.labels == wanted.metadata.labels
        and {**observed.metadata.annotations, **version} == wanted.metadata.annotations
    )
    return None if same else replace(observed, metadata=metadata, spec=spec)
