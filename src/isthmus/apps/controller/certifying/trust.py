"""What a cluster signs with and whom it trusts; and what becomes of it when either is replaced.

The issuer and the bundle are two objects that change one after the other, by hand or by a tool.
What does not fit together is not used: the last that did stays, and the reason can be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from isthmus.apps.credentials import Credentials
from isthmus.model.errors import Permanent
from isthmus.model.identities import Identity
from isthmus.model.names import ANCHORS
from isthmus.model.objects import ConfigMap, Key, Secret
from isthmus.pki import bundle, keys
from isthmus.pki.bundle import BadBundle, Bundle
from isthmus.pki.issue import issue
from isthmus.pki.keys import Pair
from isthmus.pki.pem import BadPem
from isthmus.pki.shape import CannotIssue
from isthmus.pki.verify import Untrusted, verify

CERTIFICATE, KEY = "tls.crt", "tls.key"  # as in every Secret of type kubernetes.io/tls


class Unusable(Permanent):
    """Something that cannot be signed with, or trusted. Names the object."""


@dataclass(frozen=True, slots=True)
class Trust:
    """An issuer and the anchors that vouch for it."""

    issuer: Pair
    anchors: Bundle


@dataclass(frozen=True, slots=True)
class Choice:
    """What to use, and a leaf that was made by it and verified."""

    trust: Trust
    own: Credentials


def read_issuer(secret: Secret | None, key: Key, cluster: str) -> Pair | Unusable:
    """Return the issuer that a Secret holds, or what is wrong with it."""
    if secret is None:
        return Unusable(
            f"Secret {key} does not exist; make it with `isthmus trust issue --cluster {cluster}`"
        )
    try:
        return keys.read_pair(
            _field(secret.data, CERTIFICATE), _field(secret.data, KEY), "the issuer"
        )
    except (BadPem, Unusable) as error:
        return Unusable(f"Secret {key}: {error}")


def read_anchors(found: ConfigMap | None, key: Key) -> Bundle | Unusable:
    """Return the bundle that a ConfigMap holds, or what is wrong with it."""
    if found is None:
        return Unusable(f"ConfigMap {key} does not exist; it holds the trust anchors")
    try:
        return bundle.parse(_field(found.data, ANCHORS))
    except (BadPem, BadBundle, Unusable) as error:
        return Unusable(f"ConfigMap {key}: {error}")


def choose(
    issuer: Pair | Unusable,
    anchors: Bundle | Unusable,
    last: Trust | None,
    own: Identity,
    now: datetime,
) -> tuple[Choice | None, str]:
    """Return the newest that fits together, and why that is not all of the newest.

    Anchors come first: to trust one more harms nobody, while an issuer below an anchor that is
    not trusted yet would cut everybody off.
    """
    wrong = [str(each) for each in (issuer, anchors) if isinstance(each, Unusable)]
    issuers = [each for each in (issuer, last and last.issuer) if isinstance(each, Pair)]
    bundles = [each for each in (anchors, last and last.anchors) if isinstance(each, Bundle)]
    for trusted in bundles:
        for signer in issuers:
            try:
                made = proved(Trust(signer, trusted), own, now)
            except (CannotIssue, Untrusted) as error:
                wrong.append(str(error))
            else:
                return Choice(Trust(signer, trusted), made), next(iter(wrong), "")
    return None, next(iter(wrong), "")


def proved(trust: Trust, own: Identity, now: datetime) -> Credentials:
    """Make a leaf and verify it as others will; raise CannotIssue or Untrusted if they would not.

    An issuer of another cluster, one that has expired, or one of another anchor makes nothing that
    anybody accepts. Better to see that here than in every proxy.
    """
    key = keys.new_key()
    leaf = issue(trust.issuer, own, key.public_key(), now)
    verify((leaf, trust.issuer.certificate), trust.anchors, now)
    return Credentials(leaf, trust.issuer.certificate, key)


def _field(data: Mapping[str, "bytes | str"], name: str) -> bytes | str:
    if name not in data:
        raise Unusable(f"it has no key {name!r}")
    return data[name]
