"""One call that somebody asks about: what it is, and all that was seen on its way."""

from dataclasses import dataclass
from shlex import quote

from isthmus.cli.checking.evidence.sites import Seen, Site, Unseen
from isthmus.model.grants import Grant
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.links import Link
from isthmus.model.objects import Condition, EndpointSlice, Key, Namespace, Service
from isthmus.model.pages import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What is called: an export, or one of its pods, and the local name that stands for it."""

    export: Key  # in the target
    hostname: str = ""  # of a pod of a headless export
    mirror: Key  # of the export
    stand_in: Key  # what is called in the source: the mirror, or that of the pod
    account: str = ""  # of the caller, as namespace/name, if that is asked about
    is_sample: bool = False  # nobody has named the pod: it is the first of the set


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The cluster in which the caller is."""

    site: Site
    links: Seen[tuple[Link, ...]]
    link: Link | None = None
    namespace: Seen[Namespace | None]
    mirror: Seen[Service | None]
    stand_in: Seen[Service | None]  # the same, unless a pod is called
    slices: Seen[tuple[EndpointSlice, ...]]  # of what is called
    probe: Seen[Probe | None]  # of the link's gateways
    listening: Seen[Probe | None]  # of the egress


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cluster in which the called pods are."""

    site: Site
    service: Seen[Service | None]
    slices: Seen[tuple[EndpointSlice, ...]]
    grants: Seen[tuple[Grant, ...]]
    gateway: Seen[Service | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that is known. ``source_name`` and ``target_name`` are what clusters are called;
    empty where nobody could say."""

    called: Called
    source_name: str
    target_name: str
    source: Source | Unseen
    target: Target | Unseen

    @property
    def link(self) -> Link | None:
        return None if isinstance(self.source, Unseen) else self.source.link

    @property
    def mesh_domain(self) -> str:
        for one in (self.source, self.target):
            if not isinstance(one, Unseen) and one.site.issues_for:
                return one.site.issues_for.partition(".")[2]
        return MESH_DOMAIN

    @property
    def is_ours(self) -> bool:
        """Whether our own proxies carry the call."""
        return self.link is None or self.link.spec.data_plane == "envoy"

    def condition(self, kind: str) -> Condition | None:
        """Return a condition of the link, if its controller has written one."""
        link = self.link
        found = link.status.conditions if link else ()
        return next((one for one in found if one.type == kind), None)

    def kubectl(self, where: Source | Target, words: str) -> str:
        """Return a command as the user would type it for one of the clusters."""
        return f"kubectl --context {quote(where.site.context)} {words}"

    @property
    def there(self) -> str:
        """How to speak of the target."""
        return self.target_name or "the target"

    @property
    def here(self) -> str:
        """How to speak of the source."""
        return self.source_name or "the source"
