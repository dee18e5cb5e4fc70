"""The target's half of a controller: what this cluster offers, and what its gateway lets in.

Services, their EndpointSlices and Grants come in; lines of the catalogue and routes of the gateway
go out, each computed anew only for the Services that something has changed for.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TypeAlias

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.views import by_service
from isthmus.catalogue.callers import Site as Own
from isthmus.catalogue.messages import VERSION, Hello
from isthmus.catalogue.offers import Offers
from isthmus.core import gateway, grant
from isthmus.core.contest import API_SERVER
from isthmus.core.gateway import Site
from isthmus.core.grant import Permit
from isthmus.core.offer import is_awaited, is_offered, offer
from isthmus.kube.requests import Selection
from isthmus.model.exports import Export
from isthmus.model.grants import Grant
from isthmus.model.names import CONTROLLER, EXPORTED, MANAGED_BY, MANAGER, SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Service, service_of
from isthmus.model.routes import Callers, GatewayRoutes, Inbound, Place
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put

Told: TypeAlias = Callable[[frozenset[Key]], None]

KUBERNETES = "endpointslice-controller.k8s.io"  # makes the slices of Services with a selector
# Kubernetes copies a Service's labels to the slices that it makes, so that the server can choose
# them for us; a slice that somebody else has made need not have them, but there are few of those.
MARKED = Selection(labels=f"{EXPORTED},{MANAGED_BY}={KUBERNETES}")
LOOSE = Selection(labels=f"{SERVICE_NAME},{MANAGED_BY} notin ({KUBERNETES},{MANAGER})")
HTTPS = "https"  # the port of the controllers' Service at which they serve the catalogue


class Exporting:
    """Knows what is offered to whom. ``uid`` is this cluster's, empty until it is known."""

    def __init__(self, config: Config, uid: Callable[[], str]) -> None:
        self.own = Own(
            cluster=config.cluster_name,
            mesh_domain=config.mesh_domain,
            namespace=config.namespace,
        )
        self.offers = Offers(self._hello)
        self.ready = asyncio.Event()  # set once everything is known that routes are made of
        self.grants: Cache[Key, Grant] = Cache(lambda one: one.metadata.key)
        self._config = config
        self._uid = uid
        self._services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
        self._marked, self._loose, self._ours = _slices(), _slices(), _slices()
        self._by_service = [by_service(cache) for cache in (self._marked, self._loose)]
        self._permits: dict[Key, Permit] = {}
        self._inbound: dict[Key, tuple[Inbound, ...]] = {}
        self._site = Site()
        self._stale = True  # whether something was seen that nobody could act upon
        self._listeners: list[Told] = []

    @property
    def inbound(self) -> Mapping[Key, tuple[Inbound, ...]]:
        """What the gateway serves, by the Service that it is for."""
        return self._inbound

    def routes(self) -> GatewayRoutes:
        """Return everything that the gateway lets through; meaningless before ``ready``."""
        return GatewayRoutes(
            inbound=tuple(
                chain.from_iterable(map(self._inbound.__getitem__, sorted(self._inbound)))
            ),
            catalogue=self._catalogue(),
            catalogue_callers=self._catalogue_callers(),
            controller=self.own.controller,
        )

    def tell(self, told: Told) -> None:
        """Have ``told`` called whenever routes are others, with the Services that they are for;
        with none if only the catalogue's own route is another."""
        self._listeners.append(told)

    # What this cluster's watches say.

    def fold_services(self, event: Event[Key, Service]) -> None:
        changed = {change.key for change in self._services.fold(only_offered(event))}
        if changed or self._stale:  # most Services are not offered, and follow each other closely
            self._update(changed)

    def fold_marked(self, event: Event[Key, EndpointSlice]) -> None:
        self._fold_slices(self._marked, event)

    def fold_loose(self, event: Event[Key, EndpointSlice]) -> None:
        self._fold_slices(self._loose, event)

    def fold_ours(self, event: Event[Key, EndpointSlice]) -> None:
        """Take in where our own workloads are."""
        before = self._catalogue()
        self._ours.fold(event)
        self._update(())
        if self._catalogue() != before:
            self._tell(frozenset())

    def fold_grants(self, event: Event[Key, Grant]) -> None:
        affected: list[Permit] = []
        before = self._catalogue_callers()
        for change in self.grants.fold(event):
            former = self._permits.pop(change.key, None)
            given = self._permit(change.after)
            if given is not None:
                self._permits[change.key] = given
            affected += [one for one in (former, given) if one is not None]
        self.offers.permit(self._permits.values())
        self._update(
            key
            for key, service in self._services.objects.items()
            if any(one.covers(key, service.metadata.labels) for one in affected)
        )
        if self._catalogue_callers() != before:
            self._tell(frozenset())

    def _fold_slices(
        self, cache: Cache[Key, EndpointSlice], event: Event[Key, EndpointSlice]
    ) -> None:
        changes = cache.fold(event)
        both = (one for change in changes for one in (change.before, change.after))
        self._update({key for one in both if one is not None for key in service_of(one)})

    # What follows from it.

    @property
    def _is_whole(self) -> bool:
        """Whether what we see can be this cluster: every one has the Service of its own API, and
        its endpoints. A list without them is wrong, and nobody is cut off because of it."""
        caches = (self._services, self._marked, self._loose, self._ours, self.grants)
        return (
            all(cache.synced for cache in caches)
            and API_SERVER in self._services.objects
            and any(self._slices_of(API_SERVER))
        )

    def _update(self, keys: Iterable[Key]) -> None:
        """Say anew what ``keys`` offer; everything, if what all of it depends on is another."""
        if not self._is_whole:
            self._stale = True
            return
        chosen = set(keys)
        site = self._current_site()
        if site != self._site or self._stale:
            self._site, self._stale = site, False
            chosen = self._services.objects.keys() | self._inbound.keys() | set(self.offers.names())
        changed = frozenset(key for key in chosen if self._decide(key))
        self.ready.set()
        if changed:
            self._tell(changed)

    def _decide(self, key: Key) -> bool:
        """Decide about one Service; tell whether the gateway serves it differently by that."""
        service = self._services.objects.get(key)
        slices = tuple(self._slices_of(key))
        if service is not None and self._is_new(key) and is_awaited(service, slices):
            return False  # the watch of slices brings it back
        found = None if service is None else offer(service, slices)
        self.offers.put(key, found)
        served: tuple[Inbound, ...] = ()
        if service is not None and found is not None and isinstance(found.said, Export):
            callers = grant.callers(found.said, self._permits.values())
            served = gateway.inbound(found.said, service, slices, callers, self._site)
        if served == self._inbound.get(key, ()):
            return False
        self._inbound.pop(key, None)
        if served:
            self._inbound[key] = served
        return True

    def _is_new(self, key: Key) -> bool:
        """Tell whether a Service has come while we were looking. One that was there before us was
        offered by somebody else, and is not withdrawn because our first list lacks its slices."""
        return self.ready.is_set() and key not in self.offers

    def _slices_of(self, key: Key) -> Iterable[EndpointSlice]:
        for found in self._by_service:
            yield from found.get(key, ())

    def _current_site(self) -> Site:
        return gateway.site(
            self._config.cluster_domain,
            (self._services.objects[API_SERVER], self._slices_of(API_SERVER)),
            self._ours.objects.values(),
            allow_loopback=self._config.allow_loopback,
        )

    def _catalogue(self) -> tuple[Place, ...]:
        controllers = Key(self._config.namespace, CONTROLLER)
        own = (one for one in self._ours.objects.values() if controllers in service_of(one))
        return gateway.places(own, HTTPS)

    def _catalogue_callers(self) -> Callers:
        given = self._permits.values()
        return grant.catalogue_callers(given, self._config.mesh_domain, self._config.namespace)

    def _permit(self, given: Grant | None) -> Permit | None:
        return None if given is None else grant.permit(given, self._config.mesh_domain)

    def _hello(self) -> Hello | None:
        if not (self.ready.is_set() and self._is_whole and self._uid()):
            return None
        return Hello(
            version=VERSION,
            cluster=self._config.cluster_name,
            uid=self._uid(),
            mesh_domain=self._config.mesh_domain,
            cluster_domain=self._config.cluster_domain,
        )

    def _tell(self, changed: frozenset[Key]) -> None:
        if self.ready.is_set():
            for told in self._listeners:
                told(changed)


def _slices() -> Cache[Key, EndpointSlice]:
    return Cache(lambda one: one.metadata.key)


def only_offered(event: Event[Key, Service]) -> Event[Key, Service]:
    """Return ``event`` as if there were no other Services than those that matter here."""
    match event:
        case Listed(objects, unreadable):
            return Listed(tuple(filter(_matters, objects)), unreadable)
        case Put(service) if not _matters(service):
            return Gone(service.metadata.key)
        case _:
            return event


def _matters(service: Service) -> bool:
    return is_offered(service) or service.metadata.key == API_SERVER
