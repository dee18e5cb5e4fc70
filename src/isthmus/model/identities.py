"""Who a workload is, as certificates say it: a SPIFFE ID."""

from typing import NamedTuple

from isthmus.model.errors import Permanent
from isthmus.model.names import LONGEST_LABEL
from isthmus.model.syntax import LONGEST_SUBDOMAIN, is_dns_label, is_subdomain

MESH_DOMAIN = "isthmus"  # unless clusters agree on another


class NotAnIdentity(Permanent):
    """A text that is not exactly how we write an identity."""


class Identity(NamedTuple):
    """One service account of one cluster of a mesh."""

    cluster: str
    mesh_domain: str
    namespace: str
    account: str

    @property
    def trust_domain(self) -> str:
        return f"{self.cluster}.{self.mesh_domain}"

    def __str__(self) -> str:
        return f"spiffe://{self.trust_domain}/ns/{self.namespace}/sa/{self.account}"


def trust_domain(cluster: str, mesh_domain: str) -> str:
    """Return the host of a cluster's identities; raise if the names cannot be part of it."""
    if not is_dns_label(cluster):
        raise NotAnIdentity(f"{cluster!r:.80} is not the name of a cluster: one DNS label, as west")
    check_mesh_domain(mesh_domain)
    return f"{cluster}.{mesh_domain}"


def check_mesh_domain(mesh_domain: str) -> None:
    """Raise unless ``mesh_domain`` is a DNS name that leaves room for the name of a cluster."""
    if not is_subdomain(mesh_domain) or len(mesh_domain) > LONGEST_SUBDOMAIN - LONGEST_LABEL - 1:
        raise NotAnIdentity(f"{mesh_domain!r:.80} is not a mesh domain: a DNS name, as isthmus")


def parse(uri: str, mesh_domain: str) -> Identity:
    """Return whom ``uri`` names; raise unless it is written exactly as we write identities.

    Proxies compare identities as text, so that a second way to write one would be a way around
    them: no upper case, no port, no user, no escapes, no empty or dotted segments, no query.
    """
    scheme, _, rest = uri.partition("://")
    host, *path = rest.split("/")
    cluster, _, domain = host.partition(".")
    if scheme != "spiffe" or len(path) != 4 or path[::2] != ["ns", "sa"]:
        raise _not_an_identity(uri, f"spiffe://<cluster>.{mesh_domain}/ns/<namespace>/sa/<account>")
    _, namespace, _, account = path
    if domain != mesh_domain:
        raise _not_an_identity(uri, f"a cluster of the mesh domain {mesh_domain}")
    if not (is_dns_label(cluster) and is_dns_label(namespace) and is_subdomain(account)):
        raise _not_an_identity(uri, "names as Kubernetes writes them")
    return Identity(cluster, mesh_domain, namespace, account)


def _not_an_identity(uri: str, expected: str) -> NotAnIdentity:
    return NotAnIdentity(f"{uri!r:.300} is not an identity of this mesh; expected {expected}")
