"""What a plan may ask the shell to do. Every write to something that exists is conditional."""

from dataclasses import dataclass
from typing import TypeAlias

from isthmus.model.objects import EndpointSlice, Key, Namespace, Service

Written: TypeAlias = Service | EndpointSlice | Namespace


@dataclass(frozen=True, slots=True)
class Create:
    """Make ``object``; if the name is taken by then, nothing is touched."""

    object: Written


@dataclass(frozen=True, slots=True)
class Update:
    """Write ``object``, provided that nobody has written since we read it."""

    object: Written


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove ``object``, provided that it is still the very one, unchanged, that we read."""

    object: Written


@dataclass(frozen=True, slots=True)
class Report:
    """Say why an export (or one of its pods) has no mirror. Part of the link's status."""

    link_uid: str
    export: Key
    reason: str  # one CamelCase word
    message: str


Action: TypeAlias = Create | Update | Delete | Report
