"""One reading of a target: its selected Services with their slices, as they are digested."""

from isthmus.core.export import digest
from isthmus.model.exports import Export, Refused
from isthmus.model.links import Link
from isthmus.model.names import SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Service
from isthmus.runtime.cache import Cache, Event


def service_of(one: EndpointSlice) -> tuple[Key, ...]:
    """Return the Service that a slice belongs to, if it belongs to any."""
    name = one.metadata.labels.get(SERVICE_NAME)
    return (Key(one.metadata.namespace, name),) if name else ()


class Remote:
    """Complete once both kinds are: a set whose slices are missing would look empty."""

    def __init__(self) -> None:
        self.services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
        self.slices: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
        self._by_service = self.slices.index(service_of)

    @property
    def synced(self) -> bool:
        return self.services.synced and self.slices.synced

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
        """Say what the Service ``key`` offers through ``link``; None if nothing.

        The server was asked for what the selector picks, but its word is not taken for it.
        """
        service = self.services.objects.get(key)
        if service is None or not link.spec.selector.selects(service.metadata.labels):
            return None
        slices = (self.slices.objects[one] for one in sorted(self._by_service[key]))
        return digest(service, slices)
