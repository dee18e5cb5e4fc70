"""What was read of clusters, as values. What could not be read is said, and is not the same as
what is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

from cryptography import x509

from isthmus.apps.controller.certifying.trust import Unusable
from isthmus.cli.checking.evidence.objects import Container, Pod
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.objects import Lease
from isthmus.model.pages import Proxies, Proxy
from isthmus.pki.bundle import Bundle
from isthmus.pki.facts import Unreadable, facts
from isthmus.pki.reports import News
from isthmus.pki.seen import Report

T = TypeVar("T")

ROLES = {CONTROLLER: "controller", GATEWAY: "gateway", EGRESS: "egress"}  # by service account
_CLUSTER_NAME = "--cluster-name"


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that could not be looked at, why, and the way out if that is known."""

    why: str
    hint: str = ""


Seen: TypeAlias = T | Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The controller, the gateway or the egress: what is wanted of it, and its pods."""

    name: str
    wanted: int | None = None  # pods; None: there is no Deployment of that name
    version: str = ""  # as its Deployment says, or the tag of its image
    containers: tuple[Container, ...] = ()
    pods: tuple[Pod, ...] = ()

    @property
    def ready(self) -> int:
        return sum(one.is_ready for one in self.pods)

    @property
    def trouble(self) -> str:
        """Why a pod is not ready, of the first that is not; nothing if there is none."""
        return next(
            (f"pod {one.metadata.name}: {one.trouble}" for one in self.pods if not one.is_ready), ""
        )

    def stuck(self, now: datetime) -> str:
        """Which pod will not come up by itself, and why; nothing if there is none."""
        return next(
            (f"pod {one.metadata.name}: {one.trouble}" for one in self.pods if one.is_stuck(now)),
            "",
        )

    def option(self, name: str) -> str:
        """Return what a command-line option of the workload is set to, if it is set."""
        for one in self.containers:
            words = (*one.command, *one.args)
            for index, word in enumerate(words):
                if word.startswith(f"{name}="):
                    return word.partition("=")[2]
                if word == name and index + 1 < len(words):
                    return words[index + 1]
        return ""


@dataclass(frozen=True, slots=True)
class Replica:
    """What one controller says on its page, and when it said so, by our clock."""

    pod: str
    page: Seen[Proxies]
    at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """One of our own pods, and what it says of the anchors that it uses."""

    role: str
    report: Report | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One cluster, and what it shows of Isthmus."""

    context: str  # how the user calls it
    namespace: str  # of Isthmus there
    at: datetime  # when it was read, by our clock
    ahead: float | None  # seconds by which its API server's clock is ahead of ours
    uid: Seen[str]
    workloads: Seen[Mapping[str, Workload]]
    issuer: Seen[x509.Certificate | Unusable]
    anchors: Seen[Bundle | Unusable]
    news: Seen[News]
    lease: Seen[Lease | None]
    replicas: tuple[Replica, ...] = ()

    @property
    def name(self) -> str:
        """What other clusters call this one; empty if nothing here says it."""
        said = (one.page.cluster for one in self.replicas if isinstance(one.page, Proxies))
        controller = self.workload(CONTROLLER)
        told = controller.option(_CLUSTER_NAME) if controller else ""
        return next(said, "") or told or self.issues_for.partition(".")[0]

    @property
    def issues_for(self) -> str:
        """The host of the identities that its issuer may vouch for: ``west.isthmus``."""
        if not isinstance(self.issuer, x509.Certificate):
            return ""
        try:
            permitted = facts(self.issuer).permitted or ()
        except Unreadable:
            return ""
        return permitted[0] if len(permitted) == 1 else ""

    @property
    def now(self) -> datetime:
        """The time by the cluster's own clock."""
        return self.at + timedelta(seconds=self.ahead or 0.0)

    @property
    def clock(self) -> tuple[float, str] | None:
        """Seconds by which the clock that stamps certificates here is ahead of ours, and whose it
        is: a controller's, else that of the API server. None if nobody has said the time."""
        for one in self.replicas:
            if isinstance(one.page, Proxies):
                ahead = (one.page.time - one.at).total_seconds()
                return ahead, f"controller {one.pod}"
        return None if self.ahead is None else (self.ahead, "API server")

    @property
    def pages(self) -> tuple[Proxies, ...]:
        return tuple(one.page for one in self.replicas if isinstance(one.page, Proxies))

    def workload(self, name: str) -> Workload | None:
        return None if isinstance(self.workloads, Unseen) else self.workloads.get(name)

    def proxies(self, role: str) -> tuple[Proxy, ...]:
        """All proxies of a role that any replica is connected to."""
        return tuple(one for page in self.pages for one in page.proxies if one.role == role)

    @property
    def members(self) -> Mapping[str, Member]:
        """Our own pods, each with its report if it has made one."""
        if isinstance(self.workloads, Unseen) or isinstance(self.news, Unseen):
            return {}
        found: dict[str, Member] = {}
        for name, workload in self.workloads.items():
            for pod in workload.pods:
                said = self.news.of_controller if name == CONTROLLER else self.news.of_proxy
                found[pod.metadata.name] = Member(ROLES[name], said(pod.metadata.name))
        return found
