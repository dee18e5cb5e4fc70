"""What is known of the clusters while anchors change, and since when: what was seen, not hoped.

Each piece of news carries the moment at which it was true. Of what changes slowly it is also kept
since when it has been so, as far as this observer can tell: one that starts anew knows nothing and
therefore waits again, which is the safe side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Report:
    """What a proxy or a controller says of itself, at one moment."""

    at: datetime
    trusts: frozenset[str]  # anchors, by fingerprint: the bundle that it uses
    chains_to: frozenset[str]  # anchors of every certificate that it holds or signs with


@dataclass(frozen=True, slots=True)
class Member:
    """A proxy or a controller of a cluster; until it reports, nothing is known of it."""

    signs: bool  # a controller, which signs with the cluster's issuer
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a cluster tells its members, and the members that it has."""

    at: datetime  # when all of this was read
    trusts: frozenset[str]  # anchors of its bundle
    issues_from: str  # the anchor of its issuer
    trusts_since: datetime
    issues_since: datetime  # the issuer, and those who sign with it, have been these
    members: Mapping[str, Member] = field(default_factory=dict)


Seen = Mapping[str, Cluster]


@dataclass(frozen=True, slots=True)
class Reading:
    """A cluster's own objects, as they were read at one moment."""

    at: datetime
    trusts: frozenset[str]
    issues_from: str
    members: Mapping[str, bool]  # every pod of ours: whether it signs


def with_reading(seen: Seen, name: str, reading: Reading) -> Seen:
    """Take note of a cluster. Members that are gone are forgotten, new ones have not reported."""
    before = seen.get(name)
    members = {
        each: before.members[each] if before and each in before.members else Member(signs)
        for each, signs in reading.members.items()
    }
    trusts_since = issues_since = reading.at
    if before and before.trusts == reading.trusts:
        trusts_since = before.trusts_since
    if before and _signing(before.issues_from, before.members) == _signing(
        reading.issues_from, members
    ):
        issues_since = before.issues_since
    cluster = Cluster(
        at=reading.at,
        trusts=reading.trusts,
        issues_from=reading.issues_from,
        trusts_since=trusts_since,
        issues_since=issues_since,
        members=members,
    )
    return {**seen, name: cluster}


def with_report(seen: Seen, name: str, member: str, report: Report) -> Seen:
    """Take note of what a member says, unless it is not known or has said something later."""
    cluster = seen.get(name)
    if cluster is None or member not in cluster.members:
        return seen
    before = cluster.members[member]
    if before.report is not None and before.report.at > report.at:
        return seen
    members = {**cluster.members, member: replace(before, report=report)}
    changed = _signing(cluster.issues_from, members) != _signing(
        cluster.issues_from, cluster.members
    )
    since = max(cluster.issues_since, report.at) if changed else cluster.issues_since
    return {**seen, name: replace(cluster, members=members, issues_since=since)}


def _signing(issues_from: str, members: Mapping[str, Member]) -> object:
    """Return who signs, and with what."""
    signers = {
        name: member.report.chains_to if member.report else None
        for name, member in members.items()
        if member.signs
    }
    return issues_from, signers
