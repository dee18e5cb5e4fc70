"""What a plan may ask the shell to do. Every write to something that exists is conditional."""

from typing import TypeAlias

import msgspec

from isthmus.model.objects import EndpointSlice, Key, Namespace, Service

Written: TypeAlias = Service | EndpointSlice | Namespace


class Create(msgspec.Struct, frozen=True):
    """Make ``object``; if the name is taken by then, nothing is touched."""

    object: Written


class Update(msgspec.Struct, frozen=True):
    """Write ``object``, provided that nobody has written since we read it."""

    object: Written


class Delete(msgspec.Struct, frozen=True):
    """Remove ``object``, provided that it is still the very one, unchanged, that we read."""

    object: Written


class Report(msgspec.Struct, frozen=True):
    """Say why an export (or one of its pods) has no mirror. Part of the link's status."""

    link_uid: str
    export: Key
    reason: str  # one CamelCase word
    message: str


Action: TypeAlias = Create | Update | Delete | Report
