"""What the planner sees: the source cluster as it is, and what each link would import."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service


class Claim(NamedTuple):
    """A wish for a local name: an export's own mirror, or that of one of its named pods."""

    link_uid: str
    export: Key
    hostname: str = ""


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    """One link and what is known of its target.

    ``synced`` means that ``exports`` is complete and from the pinned cluster: only then may
    something be deleted because it is missing there. ``deletions_held`` is the guard's word.
    """

    link: Link
    exports: Mapping[Key, Export] = {}
    synced: bool = False
    deletions_held: bool = False
    gateway_alive: bool = True
    gateway_addresses: tuple[str, ...] = ()


class Address(NamedTuple):
    """Where an egress proxy listens."""

    ip: str
    ready: bool = True


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the source cluster. Mappings may be views of live caches: planning does
    not wait, so nothing changes underneath it."""

    own_namespace: str = "isthmus"
    links: Mapping[str, LinkView] = {}  # by link UID
    claims: Mapping[Key, tuple[Claim, ...]] = {}  # by local name
    namespaces: Mapping[str, Namespace] = {}
    services: Mapping[Key, Service] = {}
    slices: Mapping[Key, Sequence[EndpointSlice]] = {}  # by service
    egress: tuple[Address, ...] = ()
    listeners: Mapping[int, Key] = {}  # listener port to its mirror
    allow_loopback: bool = False  # may proxies be on this machine? For tests and the demo
