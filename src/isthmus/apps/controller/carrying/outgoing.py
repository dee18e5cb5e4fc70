"""The source's half of the data plane: which mirrored ports the egress listens for, and whose
gateways it calls. Computed anew only for the mirrors that something has changed for, and not before
somebody wants to know: while thousands of mirrors are made, most of what is seen is their halves.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import TypeVar

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.views import by_service
from isthmus.core import egress, mirror
from isthmus.kube.requests import Selection
from isthmus.model.links import Link
from isthmus.model.names import MANAGED_BY, MANAGER, MIRRORED
from isthmus.model.objects import EndpointSlice, Key, Service, service_of
from isthmus.model.routes import Outbound, Peer
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put

V = TypeVar("V", Service, EndpointSlice)

MIRRORS = Selection(labels=f"{MIRRORED}=true")
OURS = Selection(labels=f"{MANAGED_BY}={MANAGER}")


class Carrying:
    """Knows what the egress carries. ``gateways`` says where a link's are, by its UID."""

    def __init__(self, config: Config, gateways: Callable[[str], tuple[str, ...]]) -> None:
        self._config = config
        self._gateways = gateways
        self._told: list[Callable[[], None]] = []
        self._touched: set[Key] = set()  # about which something was seen since they were decided
        self._changed: set[Key] = set()  # whose ports are served differently, and nobody knows yet
        self._services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
        self._slices: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
        self._links: Cache[Key, Link] = Cache(lambda one: one.metadata.key)
        self._link_of = self._links.index(lambda one: (one.uid,))
        self._owned = self._services.index(lambda one: (mirror.owner(one.metadata),))
        self._slices_of = by_service(self._slices)
        self._peers: dict[str, Peer] = {}
        self._places: dict[str, tuple[str, ...]] = {}  # of gateways, by the link's UID
        self._wanted: dict[Key, tuple[Outbound, ...]] = {}  # before two want one port
        self._claimants: dict[int, set[Key]] = {}
        self._outbound: dict[Key, tuple[Outbound, ...]] = {}

    @property
    def synced(self) -> bool:
        return self._services.synced and self._slices.synced and self._links.synced

    @property
    def outbound(self) -> Mapping[Key, tuple[Outbound, ...]]:
        """What the egress listens for, by the mirror that it is for."""
        self._decide_touched()
        return self._outbound

    @property
    def peers(self) -> Mapping[str, Peer]:
        """The gateways, by the name of the link."""
        return self._peers

    def tell(self, told: Callable[[], None]) -> None:
        """Have ``told`` called whenever ``news`` or ``peers`` may be worth a look."""
        self._told.append(told)

    def news(self) -> frozenset[Key]:
        """Return the mirrors whose ports are served differently since this was asked last."""
        self._decide_touched()
        found = frozenset(self._changed)
        self._changed.clear()
        return found

    # What this cluster's watches say.

    def fold_services(self, event: Event[Key, Service]) -> None:
        was_known = self._services.synced
        changes = self._services.fold(only_mirrors(event))
        self._touch({change.key for change in changes}, is_news=not was_known)

    def fold_slices(self, event: Event[Key, EndpointSlice]) -> None:
        was_known = self._slices.synced
        changes = self._slices.fold(only_mirrors(event))
        both = (one for change in changes for one in (change.before, change.after))
        touched = {key for one in both if one is not None for key in service_of(one)}
        self._touch(touched, is_news=not was_known)

    def fold_links(self, event: Event[Key, Link]) -> None:
        was_known, touched = self._links.synced, set[Key]()
        for change in self._links.fold(event):
            both = [one for one in (change.before, change.after) if one is not None]
            # Their status changes all the time, and is nothing to a mirror.
            if len(both) == 1 or len({(one.uid, egress.carries(one)) for one in both}) > 1:
                touched.update(key for one in both for key in self._owned[one.uid])
        self._touch(touched, is_news=not was_known)
        self._refresh()

    def moved(self, uid: str) -> None:
        """Take in that a link's gateways may be somewhere else; mostly they are not."""
        if self._places.get(uid, ()) != self._gateways(uid):
            self._refresh()

    def _refresh(self) -> None:
        links = self._links.objects.values()
        self._places = {one.uid: self._gateways(one.uid) for one in links}
        found = map(self._peer, links)
        peers = {one.link: one for one in found if one is not None}
        if peers != self._peers:
            self._peers = peers
            self._tell()

    # What follows from it.

    def _peer(self, link: Link) -> Peer | None:
        config = self._config
        return egress.peer(link, self._gateways(link.uid), config.mesh_domain, config.namespace)

    def _touch(self, keys: set[Key], *, is_news: bool) -> None:
        self._touched |= keys
        if keys or is_news:
            self._tell()

    def _decide_touched(self) -> None:
        touched, self._touched = self._touched, set()
        for key in tuple(touched):
            touched |= self._want(key)
        self._changed.update(key for key in touched if self._decide(key))

    def _want(self, key: Key) -> set[Key]:
        """Note which ports ``key`` wants; return all that want one of these, or of its former."""
        before, after = self._wanted.pop(key, ()), self._derived(key)
        if after:
            self._wanted[key] = after
        concerned: set[Key] = set()
        for one in before:
            self._claimants[one.listener].discard(key)
        for one in after:
            self._claimants.setdefault(one.listener, set()).add(key)
        for port in {one.listener for one in (*before, *after)}:
            concerned |= self._claimants[port]
            if not self._claimants[port]:
                del self._claimants[port]
        return concerned

    def _derived(self, key: Key) -> tuple[Outbound, ...]:
        service = self._services.objects.get(key)
        if service is None:
            return ()
        slices = self._slices_of.get(key, ())
        links = (self._links.objects[one] for one in self._link_of[mirror.owner(service.metadata)])
        return tuple(chain.from_iterable(egress.outbound(service, slices, one) for one in links))

    def _decide(self, key: Key) -> bool:
        """Decide about one mirror; tell whether its ports are served differently by that."""
        served = tuple(
            one
            for one in self._wanted.get(key, ())
            if min(self._claimants[one.listener], key=self._age) == key
        )
        if served == self._outbound.get(key, ()):
            return False
        self._outbound.pop(key, None)
        if served:
            self._outbound[key] = served
        return True

    def _tell(self) -> None:
        for told in self._told:
            told()

    def _age(self, key: Key) -> tuple[str, Key]:
        """Sorts mirrors: who comes later takes nobody's port away."""
        return self._services.objects[key].metadata.creation_timestamp or "", key


def only_mirrors(event: Event[Key, V]) -> Event[Key, V]:
    """Return ``event`` as if there was nothing but mirrors."""
    match event:
        case Listed(objects, unreadable):
            return Listed(tuple(one for one in objects if mirror.owner(one.metadata)), unreadable)
        case Put(one) if not mirror.owner(one.metadata):
            return Gone(one.metadata.key)
        case _:
            return event
