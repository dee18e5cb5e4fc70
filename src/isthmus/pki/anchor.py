"""The trust anchor: the root that all clusters of a mesh share. Its key stays offline."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from isthmus.model.identities import check_mesh_domain
from isthmus.pki.facts import facts
from isthmus.pki.keys import Pair, new_key
from isthmus.pki.shape import LEEWAY, authority_name, authority_usage, blank

LIFETIME = timedelta(days=3650)


def create_anchor(mesh_domain: str, now: datetime, lifetime: timedelta = LIFETIME) -> Pair:
    """Make a trust anchor, which vouches for the clusters of ``mesh_domain`` and nobody else."""
    check_mesh_domain(mesh_domain)
    key = new_key()
    public = key.public_key()
    name = authority_name(f"trust anchor of {mesh_domain}", public)
    # Whoever trusts the anchor for this mesh need not trust it for anything else, and tools
    # read from here which mesh it is of.
    below = x509.UniformResourceIdentifier(f".{mesh_domain}")
    certificate = (
        blank(public, now - LEEWAY, now + lifetime)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
        .add_extension(authority_usage(), critical=True)
        .add_extension(x509.NameConstraints([below], None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key)


def mesh_domain_of(anchor: x509.Certificate) -> str | None:
    """Return the mesh that an anchor of ours is constrained to; others may have no constraint."""
    permitted = facts(anchor).permitted or ()
    if len(permitted) == 1 and permitted[0].startswith("."):
        return permitted[0].removeprefix(".")
    return None
