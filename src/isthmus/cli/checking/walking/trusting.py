"""The step of trust: do both clusters believe each other's certificates, today and on both clocks?

Both sides are judged by what they were given and by what their pods say that they use. Where a side
cannot be seen, the word of whoever has tried to connect stands in for it.
"""

from collections.abc import Iterator

from cryptography import x509

from isthmus.apps.controller.certifying.trust import Unusable
from isthmus.cli.checking.evidence.calls import Case
from isthmus.cli.checking.evidence.sites import Site, Unseen
from isthmus.cli.checking.walking.steps import Step, broken, ok, unknown
from isthmus.model.pages import Probe
from isthmus.pki.bundle import Bundle
from isthmus.pki.facts import untimely
from isthmus.pki.keys import fingerprint
from isthmus.pki.shape import LEEWAY
from isthmus.pki.verify import Untrusted, anchor_of

TRUST = "trust"
# Reasons, of a Link or of a probe: who answers is not believed; who asks has no certificate.
DISTRUST, NAMELESS = frozenset({"TLSVerify", "Untrusted"}), frozenset({"NoIdentity", "NoAuthority"})

_CLOCKS = "set both clocks right (NTP); certificates are not valid before they are made"
_ANCHOR = "put both clusters under one anchor: isthmus trust rotate, or isthmus trust issue"


def trust(case: Case) -> Step:
    """Would both ends of the connection between the clusters believe each other?"""
    if not case.is_ours and case.link is not None and case.link.spec.via == "api":
        return ok(TRUST, "not needed: nothing of ours connects the clusters")
    sites = {
        name: side.site
        for name, side in ((case.here, case.source), (case.there, case.target))
        if not isinstance(side, Unseen)
    }
    for found in (
        clocks(sites),
        *(own(name, one) for name, one in sites.items()),
        *each_other(sites),
        _told(case),
    ):
        if found is not None:
            return found
    unseen = next(_unseen(sites), None)
    if unseen is not None and not _has_met(case):
        return unknown(TRUST, unseen)
    return ok(TRUST, _until(sites) or "the gateway has proven who it is")


def clocks(sites: dict[str, Site]) -> Step | None:
    """Say whether two clocks differ by more than certificates allow for."""
    known = {name: one.clock for name, one in sites.items() if one.clock is not None}
    if len(known) < 2:
        return None
    (first, one), (second, other) = known.items()
    apart = (one[0] if one else 0.0) - (other[0] if other else 0.0)
    if abs(apart) <= LEEWAY.total_seconds():
        return None
    ahead, behind = (first, second) if apart > 0 else (second, first)
    detail = f"the clock of {ahead} is {_minutes(abs(apart))} ahead of that of {behind}"
    return broken(TRUST, "ClockSkew", detail, _CLOCKS)


def own(name: str, site: Site) -> Step | None:
    """Say what is wrong with what a cluster was given, whoever looks at it."""
    issuer, anchors = site.issuer, site.anchors
    if isinstance(issuer, Unusable):
        return broken(TRUST, "NoIssuer", f"{name}: {issuer}", _reissue(name))
    if isinstance(anchors, Unusable):
        hint = "write the trust anchors into that ConfigMap; isthmus trust prints them"
        return broken(TRUST, "NoAnchors", f"{name}: {anchors}", hint)
    if isinstance(issuer, x509.Certificate):
        if wrong := untimely(issuer, site.now):
            return broken(TRUST, "IssuerExpired", f"the issuer of {name} {wrong}", _reissue(name))
        host = site.issues_for.partition(".")[0]
        if host and host != site.name:
            detail = f"{name} calls itself {site.name}, but its issuer vouches for {host} only"
            return broken(TRUST, "IssuerOfAnother", detail, _reissue(site.name))
    if isinstance(anchors, Bundle):
        for one in anchors.anchors:
            if wrong := untimely(one, site.now):
                detail = f"the anchor {fingerprint(one)[:16]} that {name} trusts {wrong}"
                hint = "replace the anchor: isthmus trust rotate"
                return broken(TRUST, "AnchorExpired", detail, hint)
    return None


def each_other(sites: dict[str, Site]) -> Iterator[Step | None]:
    """Yield what is wrong between clusters, and inside each: every issuer must be below an anchor
    of every one of them, and of every pod that is asked."""
    for name, site in sites.items():
        if not isinstance(site.issuer, x509.Certificate):
            continue
        for judge, other in sites.items():
            if not isinstance(other.anchors, Bundle):
                continue
            try:
                above = fingerprint(anchor_of(site.issuer, other.anchors))
            except Untrusted:
                yield _wrong_anchor(name, judge, other.anchors)
                continue
            yield _unheard(name, judge, other, above)


def _wrong_anchor(name: str, judge: str, anchors: Bundle) -> Step:
    trusted = ", ".join(one[:16] for one in anchors.fingerprints)
    whose = "its own issuer" if judge == name else f"the issuer of {name}"
    detail = f"{judge} does not trust {whose}, which is below none of its anchors: {trusted}"
    return broken(TRUST, "WrongAnchor", detail, _ANCHOR)


def _unheard(name: str, judge: str, other: Site, above: str) -> Step | None:
    """Find a pod that uses anchors of yesterday."""
    for pod, member in sorted(other.members.items()):
        if member.report is not None and above not in member.report.trusts:
            detail = f"pod {pod} of {judge} does not use the anchor yet that {name} is below of"
            hint = f"wait a minute; if it stays so, restart pod {pod}"
            return broken(TRUST, "AnchorNotInUse", detail, hint)
    return None


def _told(case: Case) -> Step | None:
    """What those say who have tried to connect."""
    for reason, message in _words(case):
        if reason in NAMELESS:
            return broken(TRUST, "NoIdentity", message, _reissue(case.here))
        if reason in DISTRUST:
            return _distrust(case, message)
    return None


def _words(case: Case) -> Iterator[tuple[str, str]]:
    """Yield why no gateway was met: just now, and by the Link's word; nothing if one was."""
    if not isinstance(case.source, Unseen) and isinstance(case.source.probe, Probe):
        attempts = case.source.probe.attempts
        if any(one.answered for one in attempts):
            return
        yield from ((one.reason, one.message) for one in attempts)
    connected = case.condition("Connected")
    if connected is not None and connected.status == "False":
        yield connected.reason, connected.message


def _distrust(case: Case, message: str) -> Step:
    said = message.lower()
    detail = f"{case.here} and {case.there} do not believe each other: {message}"
    if "expired" in said:
        hint = (
            f"renew what has expired: is the controller of {case.there} running? Its proxies get "
            "new certificates from it, and it gets its own from the issuer"
        )
        return broken(TRUST, "CertificateExpired", detail, hint)
    if "not yet valid" in said:
        return broken(TRUST, "ClockSkew", detail, _CLOCKS)
    if "does not prove to be" in said:
        hint = f"does the Link's address lead to the gateway of {case.there}? {_ANCHOR}"
        return broken(TRUST, "WrongIdentity", detail, hint)
    return broken(TRUST, "WrongAnchor", detail, _ANCHOR)


def _has_met(case: Case) -> bool:
    connected = case.condition("Connected")
    return connected is not None and connected.status == "True"


def _unseen(sites: dict[str, Site]) -> Iterator[str]:
    if len(sites) < 2:
        yield "only one of the clusters could be looked at"
    for name, site in sites.items():
        for one in (site.issuer, site.anchors):
            if isinstance(one, Unseen):
                yield f"{name}: {one.why}"


def _until(sites: dict[str, Site]) -> str:
    ends = {
        name: one.issuer.not_valid_after_utc
        for name, one in sites.items()
        if isinstance(one.issuer, x509.Certificate)
    }
    return "; ".join(
        f"the issuer of {name} holds until {end:%Y-%m-%d}" for name, end in ends.items()
    )


def _reissue(name: str) -> str:
    return f"make an issuer with: isthmus trust issue --cluster {name}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
