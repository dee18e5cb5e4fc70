"""Replacing the trust anchor of running clusters, without a moment at which one distrusts another.

Four phases: every cluster is told to trust both anchors; once everybody does, each gets an issuer
below the new one; once nobody holds a certificate below the old one, that is dropped; done. The
phase is not remembered but follows from what is seen, so that whoever goes on after a crash, a
pause or a change of mind needs nothing but the :class:`Rotation`. Rolling back is the same way
with the two anchors exchanged.

Two promises of the surroundings are relied upon. What a member begins to use (a bundle, an issuer,
a certificate) was current at most ``settle_seconds`` before: nobody acts upon older news than that.
And one rotation has one driver at a time, which knows of its own writes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from msgspec.structs import replace

from isthmus.model.objects import Value
from isthmus.model.times import second_time
from isthmus.pki.issue import LIFETIME
from isthmus.pki.seen import Cluster, Member, Report, Seen

SETTLE = timedelta(minutes=2)  # kubelets bring a changed ConfigMap within a minute and a half
FRESH = timedelta(minutes=5)  # news older than this are no ground to change anything

LEAF_SECONDS = int(LIFETIME.total_seconds())
SETTLE_SECONDS = int(SETTLE.total_seconds())

Phase = Literal["distribute", "reissue", "drop", "done"]


class Anchor(Value, frozen=True, kw_only=True):
    """A trust anchor, as far as rotating needs to know it."""

    fingerprint: str
    not_before: datetime
    not_after: datetime


class Rotation(Value, frozen=True, kw_only=True):
    """What is to become of a mesh's trust. All that has to be kept."""

    old: Anchor
    new: Anchor
    clusters: tuple[str, ...]  # every cluster of the mesh
    leaf_seconds: int = LEAF_SECONDS  # the longest that a leaf lives
    settle_seconds: int = SETTLE_SECONDS  # the longest that news take to reach everybody
    direction: Literal["forward", "back"] = "forward"
    paused: bool = False

    @property
    def both(self) -> frozenset[str]:
        return frozenset((self.old.fingerprint, self.new.fingerprint))

    @property
    def goal(self) -> Anchor:
        """The anchor that shall remain."""
        return self.new if self.direction == "forward" else self.old

    @property
    def other(self) -> Anchor:
        """The anchor that shall go."""
        return self.old if self.direction == "forward" else self.new

    @property
    def settle(self) -> timedelta:
        return timedelta(seconds=self.settle_seconds)

    def pause(self) -> "Rotation":
        return replace(self, paused=True)

    def resume(self) -> "Rotation":
        return replace(self, paused=False)

    def roll_back(self) -> "Rotation":
        return replace(self, direction="back")

    def roll_forward(self) -> "Rotation":
        return replace(self, direction="forward")


@dataclass(frozen=True, slots=True)
class Distribute:
    """Let a cluster trust these anchors, too."""

    cluster: str
    anchors: frozenset[str]
    phase: Phase = "distribute"


@dataclass(frozen=True, slots=True)
class Reissue:
    """Give a cluster an issuer below this anchor."""

    cluster: str
    anchor: str
    phase: Phase = "reissue"


@dataclass(frozen=True, slots=True)
class Drop:
    """Let a cluster trust this anchor no longer."""

    cluster: str
    anchor: str
    phase: Phase = "drop"


@dataclass(frozen=True, slots=True)
class Wait:
    """Change nothing before these (clusters, or "cluster/member") have done what is said."""

    phase: Phase
    why: str
    whom: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """Everybody trusts the one anchor only, and is trusted under it."""

    phase: Phase = "done"


Step = Distribute | Reissue | Drop | Wait | Done


def next_step(rotation: Rotation, seen: Seen, now: datetime) -> Step:
    """Return the one thing that may be done next, from what has been seen."""
    clusters = {name: seen[name] for name in rotation.clusters if name in seen}
    elsewhere = _elsewhere(rotation, clusters, now)
    phase: Phase = "drop"
    if elsewhere:
        everywhere = all(each.trusts >= rotation.both for each in clusters.values())
        phase = "reissue" if everywhere else "distribute"
    if rotation.paused:
        return Wait(phase, "paused")
    silent = tuple(
        name
        for name in rotation.clusters
        if name not in clusters or now - clusters[name].at > FRESH
    )
    if silent:
        return Wait(phase, "these clusters have not been read lately", silent)
    if elsewhere:
        return _move(rotation, clusters, now)
    return _drop(rotation, clusters, now)


def _move(rotation: Rotation, clusters: Seen, now: datetime) -> Step:
    """While not all are below the goal: let everybody trust both, then replace the issuers."""
    for name, cluster in clusters.items():
        if missing := rotation.both - cluster.trusts:
            return Distribute(name, missing)
    members = tuple(_members(clusters))
    if behind := _lacking(members, now, lambda report: report.trusts >= rotation.both):
        return Wait("distribute", "these do not trust both anchors yet, or are silent", behind)
    quiet = max(cluster.trusts_since for cluster in clusters.values()) + rotation.settle
    if early := _before(quiet, clusters, members):
        return Wait("distribute", f"to be heard again after {second_time(quiet)}", early)
    goal = rotation.goal
    if not goal.not_before <= now < goal.not_after:
        return Wait(
            "reissue",
            f"the anchor {goal.fingerprint[:16]} holds from {second_time(goal.not_before)} to "
            f"{second_time(goal.not_after)}, the clock here says {second_time(now)}",
        )
    for name, cluster in clusters.items():
        if cluster.issues_from != goal.fingerprint:
            return Reissue(name, goal.fingerprint)
    left = _elsewhere(rotation, clusters, now)
    return Wait("reissue", "these hold certificates below another anchor still", left)


def _drop(rotation: Rotation, clusters: Seen, now: datetime) -> Step:
    """While all are below the goal, as far as known: make sure of it, then drop the other."""
    goal, other = rotation.goal.fingerprint, rotation.other.fingerprint
    for name, cluster in clusters.items():
        if goal not in cluster.trusts:
            return Distribute(name, frozenset((goal,)))
    trusting = [name for name, cluster in clusters.items() if other in cluster.trusts]
    if not trusting:
        members = tuple(_members(clusters))
        if behind := _lacking(members, now, lambda report: other not in report.trusts):
            return Wait("drop", "these trust the other anchor still, or are silent", behind)
        return Done()
    members = tuple(each for each in _members(clusters) if not _outlived(each, rotation, now))
    if unknown := _lacking(members, now, lambda _: True):
        return Wait("drop", "these are silent", unknown)
    quiet = max(cluster.issues_since for cluster in clusters.values()) + rotation.settle
    if early := _before(quiet, clusters, members):
        return Wait("drop", f"to be heard again after {second_time(quiet)}", early)
    return Drop(trusting[0], other)


class _Place(NamedTuple):
    """A member and where it is."""

    name: str
    member: Member
    cluster: Cluster


def _members(clusters: Seen) -> Iterator[_Place]:
    for name, cluster in clusters.items():
        for each, member in cluster.members.items():
            yield _Place(f"{name}/{each}", member, cluster)


def _elsewhere(rotation: Rotation, clusters: Seen, now: datetime) -> tuple[str, ...]:
    """Return the clusters and members that are known to use another anchor than the goal."""
    goal = rotation.goal.fingerprint
    issuing = [name for name, cluster in clusters.items() if cluster.issues_from != goal]
    holding = [
        each.name
        for each in _members(clusters)
        if not _is_below(goal, each.member) and not _outlived(each, rotation, now)
    ]
    return (*issuing, *holding)


def _is_below(goal: str, member: Member) -> bool:
    return member.report is None or member.report.chains_to <= {goal}


def _outlived(place: _Place, rotation: Rotation, now: datetime) -> bool:
    """Tell whether a member is silent for so long that what it held has expired.

    That is: those who sign in its cluster, and what they sign with, have been the same for longer
    than a leaf lives; whether they are below the goal is asked of them.
    """
    report, cluster = place.member.report, place.cluster
    is_silent = report is None or now - report.at > FRESH
    ends = cluster.issues_since + rotation.settle + timedelta(seconds=rotation.leaf_seconds)
    return is_silent and not place.member.signs and cluster.at >= ends


def _lacking(
    members: Iterable[_Place], now: datetime, holds: Callable[[Report], bool]
) -> tuple[str, ...]:
    """Return the members that have not said lately that it ``holds``."""
    return tuple(
        name
        for name, member, _ in members
        if member.report is None or now - member.report.at > FRESH or not holds(member.report)
    )


def _before(quiet: datetime, clusters: Seen, members: Iterable[_Place]) -> tuple[str, ...]:
    """Return the clusters and members of which nothing has been heard since ``quiet``."""
    unread = [name for name, cluster in clusters.items() if cluster.at < quiet]
    unheard = [
        name for name, member, _ in members if member.report is None or member.report.at < quiet
    ]
    return (*unread, *unheard)
