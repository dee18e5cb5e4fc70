"""Clusters with pods that learn late, for rotations to be tried on.

A pod may begin to use whatever was current within the last ``LAG``, answers travel as long as that,
and reports say what was, not what is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from isthmus.pki.rotation import SETTLE, Anchor, Distribute, Drop, Reissue, Rotation, Step
from isthmus.pki.seen import Reading, Report

OLD, NEW = "old", "new"
START = datetime(2026, 1, 1, tzinfo=UTC)
LAG = SETTLE - timedelta(seconds=1)
LEAF = timedelta(hours=1)
_T = TypeVar("_T")


def rotation(*clusters: str) -> Rotation:
    end = START + timedelta(days=3650)
    return Rotation(
        old=Anchor(fingerprint=OLD, not_before=START, not_after=end),
        new=Anchor(fingerprint=NEW, not_before=START, not_after=end),
        clusters=clusters,
        leaf_seconds=int(LEAF.total_seconds()),
    )


class History(list[tuple[datetime, _T]]):
    """What was current, from when on."""

    @property
    def current(self) -> _T:
        return self[-1][1]

    def lately(self, now: datetime) -> list[_T]:
        """Return everything that was current within the last ``LAG``, the latest first."""
        values = []
        for begin, value in reversed(self):
            values.append(value)
            if begin <= now - LAG:
                break
        return values


@dataclass
class Leaf:
    anchor: str
    signed: datetime

    def is_alive(self, now: datetime) -> bool:
        return now < self.signed + LEAF


@dataclass
class Pod:
    cluster: str
    name: str
    signs: bool
    trusts: frozenset[str]
    issuer: str  # of the anchor that it signs below, if it signs
    leaf: Leaf | None = None
    answer: Leaf | None = None  # on its way

    def report(self, now: datetime) -> Report:
        held = {self.leaf.anchor} if self.leaf else set()
        return Report(now, self.trusts, frozenset(held | ({self.issuer} if self.signs else set())))


@dataclass
class Place:
    """A cluster's own objects."""

    trusts: History[frozenset[str]]
    issuer: History[str]


@dataclass
class Mesh:
    """The truth, which nobody who rotates can see as a whole."""

    now: datetime = START
    places: dict[str, Place] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    made: int = 0

    def add(self, cluster: str) -> None:
        trusts, issuer = History([(self.now, frozenset((OLD,)))]), History([(self.now, OLD)])
        self.places[cluster] = Place(trusts, issuer)
        self.spawn(cluster, signs=True)
        self.spawn(cluster, signs=False)

    def spawn(self, cluster: str, *, signs: bool, late: int = 0) -> Pod:
        self.made += 1
        place = self.places[cluster]
        pod = Pod(
            cluster=cluster,
            name=f"pod-{self.made}",
            signs=signs,
            trusts=_pick(place.trusts.lately(self.now), late),
            issuer=_pick(place.issuer.lately(self.now), late),
        )
        self.pods[pod.name] = pod
        self.ask(pod, late)
        self.receive(pod)
        return pod

    def deliver(self, pod: Pod, late: int = 0) -> None:
        pod.trusts = _pick(self.places[pod.cluster].trusts.lately(self.now), late)

    def reload(self, pod: Pod, late: int = 0) -> None:
        pod.issuer = _pick(self.places[pod.cluster].issuer.lately(self.now), late)

    def ask(self, pod: Pod, which: int = 0) -> None:
        """Let one of the cluster's controllers sign a leaf; the answer is on its way."""
        signers = [each for each in self.members(pod.cluster) if each.signs]
        if signers:
            pod.answer = Leaf(_pick(signers, which).issuer, self.now)

    def receive(self, pod: Pod) -> None:
        if pod.answer and self.now - pod.answer.signed <= LAG:
            pod.leaf = pod.answer
        pod.answer = None

    def members(self, cluster: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.cluster == cluster]

    def reading(self, cluster: str) -> Reading:
        place = self.places[cluster]
        members = {pod.name: pod.signs for pod in self.members(cluster)}
        return Reading(self.now, place.trusts.current, place.issuer.current, members)

    def perform(self, step: Step) -> None:
        match step:
            case Distribute(cluster, anchors):
                trusts = self.places[cluster].trusts
                trusts.append((self.now, trusts.current | anchors))
            case Reissue(cluster, anchor):
                self.places[cluster].issuer.append((self.now, anchor))
            case Drop(cluster, anchor):
                assert anchor not in self.in_use(), "somebody uses what is dropped"
                trusts = self.places[cluster].trusts
                trusts.append((self.now, trusts.current - {anchor}))

    def in_use(self) -> set[str]:
        return {leaf.anchor for _, leaf in self._leaves()}

    def strangers(self) -> list[str]:
        """Return who does not trust whom: empty, or the rotation has cut a connection."""
        return [
            f"{other.name} trusts {sorted(other.trusts)}, not {leaf.anchor} of {pod.name}"
            for pod, leaf in self._leaves()
            for other in self.pods.values()
            if leaf.anchor not in other.trusts
        ]

    def _leaves(self) -> Iterator[tuple[Pod, Leaf]]:
        for pod in self.pods.values():
            if pod.leaf and pod.leaf.is_alive(self.now):
                yield pod, pod.leaf


def _pick(values: list[_T], which: int) -> _T:
    return values[which % len(values)]
