"""Which cluster asks for the catalogue: what our own gateway says, and nobody else.

The gateway proves itself by its certificate, and passes on whose certificate it has seen in
``x-forwarded-client-cert``. It copies names from certificates as they are, so that a name made to
look like another part of the header must not be read as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.catalogue.errors import Forbidden
from isthmus.model.identities import Identity, NotAnIdentity, parse
from isthmus.model.names import CONTROLLER, GATEWAY

HEADER = "x-forwarded-client-cert"
KNOWN = frozenset({"By", "Hash", "URI"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a controller is. Every cluster of a mesh has its controller in the same namespace, so
    that nobody can pass for one by the name of a service account elsewhere."""

    cluster: str
    mesh_domain: str
    namespace: str

    def gateway(self, cluster: str = "") -> str:
        """Return the identity of the gateway, of this cluster unless another is named."""
        return str(Identity(cluster or self.cluster, self.mesh_domain, self.namespace, GATEWAY))

    @property
    def controller(self) -> str:
        return str(Identity(self.cluster, self.mesh_domain, self.namespace, CONTROLLER))


def source(peer: str | None, headers: Sequence[str], site: Site) -> str:
    """Return the cluster whose controller asks; raise ``Forbidden`` if it is anybody else.

    ``peer`` is whom the TLS connection proves, ``headers`` all values of the header.
    """
    if peer != site.gateway():
        raise Forbidden("the catalogue is served through the gateway only")
    if len(headers) != 1:
        raise Forbidden("the gateway names no caller, or more than one")
    try:
        caller = parse(_uri(headers[0]), site.mesh_domain)
    except NotAnIdentity:
        raise Forbidden("the caller has no identity of this mesh") from None
    if (caller.namespace, caller.account) != (site.namespace, CONTROLLER):
        raise Forbidden(f"the catalogue is for controllers: {site.namespace}/{CONTROLLER}")
    return caller.cluster


def _uri(header: str) -> str:
    """Return the one URI of the one element; raise ``Forbidden`` at anything unexpected."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        key, _, value = part.partition("=")
        if key not in KNOWN or key in found or not value or any(sign in value for sign in ',"= '):
            raise Forbidden("the gateway names the caller in a way that we do not understand")
        found[key] = value
    if "URI" not in found:
        raise Forbidden("the gateway names no caller")
    return found["URI"]
