"""Every name, label and annotation that we invent, and nothing else.

Names are made here and never taken apart: what a mirror stands for is read from its
annotations, because ``foo-east-west`` may be ``foo`` of ``east-west`` or ``foo-east`` of ``west``.
"""

from collections.abc import Iterable
from hashlib import sha256

EXPORTED = "mirror.linkerd.io/exported"
MIRRORED = "mirror.linkerd.io/mirrored-service"
CLUSTER = "mirror.linkerd.io/cluster-name"
HEADLESS_MIRROR = "mirror.linkerd.io/headless-mirror-svc-name"
REMOTE_NAME = "mirror.linkerd.io/remote-svc-fq-name"
REMOTE_VERSION = "mirror.linkerd.io/remote-resource-version"
GATEWAY_IDENTITY = "mirror.linkerd.io/remote-gateway-identity"
LINK_UID = "isthmus.dev/link-uid"
REMOTE_UID = "isthmus.dev/remote-uid"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "isthmus.dev"
CREATED_NAMESPACE = "isthmus.dev/created-by-link"
FINALIZER = "isthmus.dev/mirrors"
# Our own workloads: their Services and service accounts have the same names in every cluster.
CONTROLLER = "isthmus-controller"
GATEWAY = "isthmus-gateway"
EGRESS = "isthmus-egress"
# What a cluster trusts, and signs with; both in the controller's namespace.
ISSUER = "isthmus-issuer"  # a Secret with tls.crt and tls.key
TRUST = "isthmus-trust"  # a ConfigMap
ANCHORS = "anchors.pem"  # its key
TRUST_ROTATION = "isthmus-trust-rotation"  # a ConfigMap and a Lease, while anchors change
TRUST_SEEN = "isthmus-trust-seen"  # a ConfigMap: who trusts whom by now, as each replica sees it
VALUES = "isthmus-values"  # a ConfigMap: what was chosen about the installation

LONGEST_LABEL = 63  # RFC 1123; also the longest name of a Service
HASH_DIGITS = 8


def shortened(name: str, unique: Iterable[str]) -> str:
    """Return ``name``, cut and marked with a hash of ``unique`` where it is too long."""
    if len(name) <= LONGEST_LABEL:
        return name
    digest = sha256("\0".join(unique).encode()).hexdigest()[:HASH_DIGITS]
    return f"{name[: LONGEST_LABEL - HASH_DIGITS - 1].rstrip('-')}-{digest}"


def authority(namespace: str, service: str, domain: str, hostname: str = "") -> str:
    """Return the full name by which the target cluster knows a Service, or one of its pods."""
    own = f"{service}.{namespace}.svc.{domain}"
    return f"{hostname}.{own}" if hostname else own


def audience(cluster: str) -> str:
    """Return whom a service account's token must be meant for, to be given a certificate.

    It names the cluster: clusters that were copied have the same keys for tokens, and names.
    """
    return f"isthmus.dev/{cluster}"
