"""One reading of a target: what it offers, be it read from its API or from its catalogue."""

from collections.abc import Set
from typing import Protocol

from isthmus.apps.controller.views import by_service
from isthmus.core.export import digest
from isthmus.core.offer import Offer
from isthmus.model.exports import Export, Refused
from isthmus.model.links import Link
from isthmus.model.objects import EndpointSlice, Key, Service, service_of
from isthmus.runtime.cache import Cache, Event


class Remote(Protocol):
    """Everything that is decided about a target is decided from this."""

    @property
    def keys(self) -> Set[Key]:
        """The Services about which there is something to say."""
        ...

    @property
    def is_blank(self) -> bool:
        """Whether there is no endpoint of anything, not even of what every cluster has."""
        ...

    def digest(self, key: Key, link: Link) -> Export | Refused | None:
        """Say what the Service ``key`` offers through ``link``; None if nothing."""
        ...


class Listing:
    """A target's selected Services and their slices, as its API lists them.

    Complete once both kinds are: a set whose slices are missing would look empty.
    """

    def __init__(self) -> None:
        self.services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
        self.slices: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
        self._by_service = by_service(self.slices)

    @property
    def synced(self) -> bool:
        return self.services.synced and self.slices.synced

    @property
    def keys(self) -> Set[Key]:
        return self.services.objects.keys()

    @property
    def is_blank(self) -> bool:
        """As in :class:`Remote`: every cluster has the endpoints of its own API."""
        return not self.slices.objects

    def fold_services(self, event: Event[Key, Service]) -> set[Key]:
        """Take ``event`` in and return the Services that it is about."""
        return {change.key for change in self.services.fold(event)}

    def fold_slices(self, event: Event[Key, EndpointSlice]) -> set[Key]:
        """Take ``event`` in and return the Services whose endpoints it is about."""
        return {
            key
            for change in self.slices.fold(event)
            for one in (change.before, change.after)
            if one is not None
            for key in service_of(one)
        }

    def digest(self, key: Key, link: Link) -> Export | Refused | None:
        """As in :class:`Remote`. The server was asked for what the selector picks, but its word
        is not taken for it."""
        service = self.services.objects.get(key)
        if service is None or not link.spec.selector.selects(service.metadata.labels):
            return None
        return digest(service, self._by_service.get(key, ()))


class Catalogued:
    """A target's exports, as its catalogue offers them."""

    def __init__(self) -> None:
        self._offers: Cache[Key, Offer] = Cache(lambda one: one.said.key)

    @property
    def keys(self) -> Set[Key]:
        return self._offers.objects.keys()

    @property
    def is_blank(self) -> bool:
        """As in :class:`Remote`: a catalogue speaks of exports only."""
        return False

    def fold(self, event: Event[Key, Offer]) -> set[Key]:
        """Take ``event`` in and return the Services that it is about."""
        return {change.key for change in self._offers.fold(event)}

    def digest(self, key: Key, link: Link) -> Export | Refused | None:
        """As in :class:`Remote`: the target offers what it has, and the link chooses."""
        offer = self._offers.objects.get(key)
        if offer is None or not link.spec.selector.selects(offer.labels):
            return None
        return offer.said
