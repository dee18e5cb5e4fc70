"""What an installation is given to trust and to sign with, beside what the cluster has already.

An issuer that can be used stays: whoever installs again wants the same once more, not new keys. And
no anchor leaves a bundle here, since whoever is below it would be cut off: rotations are for that.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from isthmus.apps.controller.certifying.trust import Trust as Fitting
from isthmus.apps.controller.certifying.trust import Unusable, proved, read_anchors, read_issuer
from isthmus.cli.trusting import files
from isthmus.install.values import Issuer, Trust, Values
from isthmus.model.errors import Permanent
from isthmus.model.identities import Identity
from isthmus.model.names import CONTROLLER, ISSUER, TRUST
from isthmus.model.objects import ConfigMap, Key, Secret
from isthmus.model.times import second_time
from isthmus.pki import bundle
from isthmus.pki.anchor import mesh_domain_of
from isthmus.pki.bundle import Bundle
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, chain_pem, key_pem, read_pair
from isthmus.pki.shape import CannotIssue
from isthmus.pki.verify import Untrusted

RENEW = 1 / 3  # of an issuer's lifetime: with less than that left, another one is made


class Misfit(Permanent):
    """What was given does not go together, or not with what the cluster has."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line names: an anchor that can issue, or what was issued before."""

    anchor: Pair | None = None
    anchors: Bundle | None = None
    issuer: Pair | None = None

    @property
    def mesh_domain(self) -> str:
        """The mesh that all anchors are bound to; empty if they do not say."""
        found = {mesh_domain_of(one) for one in (self.anchors.anchors if self.anchors else ())}
        return (found.pop() or "") if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Present:
    """What the cluster has."""

    anchors: ConfigMap | None = None
    issuer: Secret | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be applied, and a sentence for what happens to the issuer."""

    trust: Trust
    note: str = ""


def read(anchor: Path | None, trust_file: Path | None, issuer: Path | None, cluster: str) -> Given:
    """Read what the options name."""
    if anchor is not None:
        pair = files.read_anchor(anchor)
        return Given(anchor=pair, anchors=bundle.of((pair.certificate,)))
    anchors = None if trust_file is None else bundle.parse(files.read(trust_file))
    if issuer is None:
        return Given(anchors=anchors)
    certificate, key = (files.read(issuer / f"{cluster}.{one}") for one in ("crt", "key"))
    return Given(anchors=anchors, issuer=read_pair(certificate, key, f"the issuer in {issuer}"))


def choose(given: Given, present: Present, values: Values, now: datetime) -> Chosen:
    """Say what the cluster is to trust and to sign with; raise :class:`Misfit` if that would cut
    somebody off, or is no good to begin with."""
    if given == Given():
        return Chosen(values.trust)
    anchors = _anchors(given, present, values)
    held = _held(present, values)
    issuer, note = _issuer(given, held, values, now)
    if anchors is not None and issuer is not None:
        _prove(Fitting(issuer, anchors), values, now)
    trusted = anchors.pem().decode() if anchors else ""
    if issuer is None or issuer == held:
        return Chosen(Trust(anchors=trusted), note)
    made = chain_pem(issuer.certificate).decode(), key_pem(issuer.key).decode()
    return Chosen(Trust(anchors=trusted, issuer=Issuer(certificate=made[0], key=made[1])), note)


def _anchors(given: Given, present: Present, values: Values) -> Bundle | None:
    """Return whom the cluster is to trust: nobody less than now."""
    if present.anchors is None:
        return given.anchors
    key = Key(values.namespace, TRUST)
    now = read_anchors(present.anchors, key)
    if isinstance(now, Unusable):
        raise Misfit(f"{now}; mend it, or delete it and install again")
    if given.anchors is None:
        return now
    here, wanted = set(now.fingerprints), set(given.anchors.fingerprints)
    # An anchor that issues is one of those that are trusted, which are two while they change.
    if wanted - here if given.anchor is not None else here - wanted:
        raise Misfit(
            f"ConfigMap {key} trusts {_named(now)}, and {_named(given.anchors)} was given: whoever "
            "is below the other would be cut off. `isthmus trust rotate` replaces anchors"
        )
    return now if given.anchor is not None else given.anchors


def _held(present: Present, values: Values) -> Pair | None:
    if present.issuer is None:
        return None
    found = read_issuer(present.issuer, Key(values.namespace, ISSUER), values.cluster_name)
    if isinstance(found, Unusable):
        raise Misfit(f"{found}; mend it, or delete it and install again")
    return found


def _issuer(
    given: Given, held: Pair | None, values: Values, now: datetime
) -> tuple[Pair | None, str]:
    """Return with what the cluster is to sign, and a sentence about it."""
    name = f"issuer of {values.cluster_name}.{values.mesh_domain}"
    if given.issuer is not None or given.anchor is None:
        return given.issuer or held, ""
    if held is not None and _is_fresh(held, now):
        return held, f"the {name} stays, until {_end(held)}"
    made = create_issuer(given.anchor, values.cluster_name, values.mesh_domain, now)
    return made, f"a new {name}, until {_end(made)}"


def _is_fresh(issuer: Pair, now: datetime) -> bool:
    found = issuer.certificate
    lifetime = found.not_valid_after_utc - found.not_valid_before_utc
    return found.not_valid_after_utc - now > lifetime * RENEW


def _prove(fitting: Fitting, values: Values, now: datetime) -> None:
    """See that others would believe what is signed; that of another cluster is found here, too."""
    own = Identity(values.cluster_name, values.mesh_domain, values.namespace, CONTROLLER)
    try:
        proved(fitting, own, now)
    except (CannotIssue, Untrusted) as error:
        raise Misfit(
            f"the issuer cannot sign for {own.trust_domain}: {error}; if the one that the cluster "
            f"has is wrong, delete Secret {values.namespace}/{ISSUER} and install again"
        ) from error


def _named(found: Bundle) -> str:
    return ", ".join(one[:16] for one in found.fingerprints)


def _end(issuer: Pair) -> str:
    return second_time(issuer.certificate.not_valid_after_utc)
