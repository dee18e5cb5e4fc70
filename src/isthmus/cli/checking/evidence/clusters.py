"""A whole cluster, as a check judges it: before an installation, and after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.cli.checking.evidence.sites import Seen, Site, Unseen
from isthmus.model.grants import Grant
from isthmus.model.links import Link
from isthmus.model.objects import EndpointSlice, Namespace, Service
from isthmus.model.pages import Probe
from isthmus.model.wire import JsonObject


class Right(NamedTuple):
    """One thing that may be done."""

    verb: str
    resource: str  # with its subresource, as roles write it
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource, _, sub = self.resource.partition("/")
        kind = f"{resource}.{self.group}" if self.group else resource
        named = f" {self.name}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {kind}{'/' + sub if sub else ''}{named}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What there is of Isthmus, if anything."""

    namespace: Seen[Namespace | None]
    definitions: Mapping[str, Seen[JsonObject | None]]  # of our kinds, by name
    homes: Seen[tuple[str, ...]] = ()  # namespaces in which controllers are installed

    @property
    def is_installed(self) -> bool:
        """Whether anything of an installation is there."""
        defined = any(isinstance(one, dict) for one in self.definitions.values())
        runs = not isinstance(self.homes, Unseen) and bool(self.homes)
        return defined or runs or isinstance(self.namespace, Namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What there is, and what we may do, before an installation."""

    present: Present
    lacking: Seen[tuple[str, ...]]  # rights of ours, a sentence each
    balanced: Seen[tuple[Service, ...]]  # Services of type LoadBalancer


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """A cluster in which Isthmus is installed, at least in part."""

    site: Site
    present: Present
    lacking: Seen[tuple[Right, ...]]  # rights of the controller
    gateway: Seen[Service | None]
    links: Seen[tuple[Link, ...]]
    grants: Seen[tuple[Grant, ...]]
    mirrors: Seen[tuple[Service, ...]]
    slices: Seen[tuple[EndpointSlice, ...]]  # that we have written
    probes: Mapping[str, Seen[Probe | None]]  # by link
