"""Folds what all watches say into one view to plan from, and into the names to plan.

Nothing here waits and nothing here talks to anybody: an event comes in, names go to the queue.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TypeVar

from isthmus.apps.controller.mirroring.expected import GONE, Expected, Thing
from isthmus.apps.controller.mirroring.fading import hold
from isthmus.apps.controller.mirroring.listeners import Listeners
from isthmus.apps.controller.mirroring.local import Local
from isthmus.apps.controller.mirroring.orphans import Orphans
from isthmus.apps.controller.mirroring.remote import Remote
from isthmus.apps.controller.mirroring.target import Contact, Target
from isthmus.apps.controller.views import by_name, by_service
from isthmus.core import guard, mirror
from isthmus.core import link as links
from isthmus.core.dusk import Held
from isthmus.core.index import Claims
from isthmus.core.world import Address, LinkView, World
from isthmus.model.actions import Report
from isthmus.model.links import Link
from isthmus.model.names import HEADLESS_MIRROR
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service, service_of
from isthmus.runtime.cache import Cache, Change, Event, Gone, Listed, Put
from isthmus.runtime.workqueue import Lane

W = TypeVar("W", Namespace, Service, EndpointSlice)


class State:
    """Everything the controller knows. ``queue`` takes names; ``touched`` takes links' UIDs."""

    def __init__(
        self,
        own_namespace: str,
        queue: Callable[[Key, Lane], None],
        touched: Callable[[str], None],
        expected: Expected,
        *,
        allow_loopback: bool = False,
    ) -> None:
        self.targets: dict[str, Target] = {}
        self.claims = Claims()
        self.namespaces: Cache[Key, Namespace] = Cache(_key)
        self.services: Cache[Key, Service] = Cache(_key)
        self.slices: Cache[Key, EndpointSlice] = Cache(_key)
        self.egress_slices: Cache[Key, EndpointSlice] = Cache(_key)
        self.links: Cache[Key, Link] = Cache(_key)
        self.owned = self.services.index(_owner)
        self.owned_slices = self.slices.index(_owner)
        self.reports: dict[str, dict[Key, tuple[Report, ...]]] = {}  # by link, then by name
        self._own_namespace = own_namespace
        self._allow_loopback = allow_loopback
        self._queue = queue
        self._touched = touched
        self._expected = expected
        self._slices_of = by_service(self.slices)
        self._namespaces = by_name(self.namespaces)
        self._views: dict[str, LinkView] = {}
        self._orphans = Orphans(self.services.objects, self.claims)
        self._egress: tuple[Address, ...] = ()
        self.listeners = Listeners(self.slices, self.services)
        self.local = Local(self.services)

    @property
    def synced(self) -> bool:
        """Whether this cluster is known completely; other clusters are not waited for."""
        caches = (self.namespaces, self.services, self.slices, self.egress_slices, self.links)
        return all(cache.synced for cache in caches)

    @property
    def own_uid(self) -> str:
        """The UID of this cluster's own kube-system namespace."""
        found = self._namespaces.get("kube-system")
        return found.metadata.uid if found is not None else ""

    def world(self) -> World:
        return World(
            own_namespace=self._own_namespace,
            links=self._views,
            claims=self.claims.by_name,
            namespaces=self._namespaces,
            services=self.services.objects,
            slices=self._slices_of,
            egress=self._egress,
            listeners=self.listeners,
            allow_loopback=self._allow_loopback,
        )

    def is_written(self, uid: str) -> bool:
        """Tell whether something of a link is being written, which no watch has shown yet."""
        return self._expected.owners[uid] > 0

    # What this cluster's watches say.

    def fold_namespaces(self, event: Event[Key, Namespace]) -> None:
        new: set[str] = set()
        for change in self.namespaces.fold(event):
            self._add(self.claims.in_namespace(change.key.name), Lane.BULK)
            if change.before is None:
                new.add(change.key.name)
        if new:
            # As long as they were not seen, nothing was taken down in them.
            self._add(self._held_in(new), Lane.BULK)
        self._show(Namespace, event)

    def fold_services(self, event: Event[Key, Service]) -> None:
        owners: set[str] = set()
        for change in self.services.fold(event):
            self._orphans.recheck(change.key)
            owners |= _owners(change)
            self._echo(self._concerned(change), _lane(event))
        self._show(Service, event)
        self._judge(owners)

    def fold_slices(self, event: Event[Key, EndpointSlice]) -> None:
        for change in self.slices.fold(event):
            both = (one for one in (change.before, change.after) if one is not None)
            self._echo({key for one in both for key in service_of(one)}, _lane(event))
            for uid in _owners(change):
                self._touched(uid)
        self._show(EndpointSlice, event)

    def fold_egress(self, event: Event[Key, EndpointSlice]) -> None:
        self.egress_slices.fold(event)
        ready = {
            ip
            for one in self.egress_slices.objects.values()
            for endpoint in one.endpoints
            if endpoint.conditions.ready is not False
            for ip in endpoint.addresses
        }
        found = tuple(Address(ip) for ip in sorted(ready))
        if found != self._egress:
            self._egress = found
            for target in self.targets.values():
                if target.link.spec.data_plane == "envoy":
                    self._add(self.claims.of_link(target.uid), Lane.BULK)

    def fold_links(self, event: Event[Key, Link]) -> None:
        for change in self.links.fold(event):
            before, after = change.before, change.after
            if before is not None and (after is None or after.uid != before.uid):
                self._forget(before.uid)
            if after is not None:
                self._know(after)

    # What the links' sessions say.

    def adopt(self, uid: str, remote: Remote) -> None:
        """Let a complete reading take the place of the one before it."""
        target = self.targets.get(uid)
        if target is not None:
            target.remote = remote
            self._reclaim(target)

    def exported(self, uid: str, remote: Remote, services: set[Key], lane: Lane) -> None:
        """Take in that Services of the target, or their endpoints, have changed."""
        target = self.targets.get(uid)
        if target is None or target.remote is not remote:
            return
        # A watch is believed about endpoints. But of an export that was not there, or not according
        # to a list that was wrong, it was a list that has said which endpoints there are.
        came = {one for one in services if one not in target.admitted.exports}
        exports = {export for service in services for export in target.digest(service)}
        doubted = exports if lane is Lane.BULK else exports & came
        if doubted:
            exports |= hold(target, doubted, self._slices_of)
        self._settle(target, self._claimed(target, exports), lane)

    def confirm(self, uid: str, held: Held) -> None:
        """Take in that an independent list lacks everything that is ``held``, too."""
        target = self.targets.get(uid)
        if target is not None and held.covers(target.held):
            target.listing += 1
            exports = hold(target, (), self._slices_of)
            self._settle(target, self._claimed(target, exports), Lane.BULK)

    def meet(self, uid: str, contact: Contact) -> None:
        target = self.targets.get(uid)
        if target is not None and target.contact != contact:
            target.contact = contact
            self._touched(uid)

    def pin(self, uid: str, cluster_uid: str) -> None:
        """Let a target be this cluster."""
        target = self.targets.get(uid)
        if target is not None:
            target.pin(cluster_uid)
            self._find_rivals()
            self._changed(target)

    def place(self, uid: str, domain: str) -> None:
        """Take in which cluster domain the target says it has."""
        target = self.targets.get(uid)
        if target is not None and target.domain != domain:
            target.domain = domain
            target.link = target.placed(target.link)
            if target.is_synced:
                self._reclaim(target)

    def probed(self, uid: str, alive: bool, known: bool | None) -> None:
        """Take in the gateway's health; ``known`` is None until a probe was conclusive."""
        target = self.targets.get(uid)
        if target is None or (target.gateway_alive, target.gateway_known) == (alive, known):
            return
        differs = target.gateway_alive != alive
        target.gateway_alive, target.gateway_known = alive, known
        self._changed(target)
        if differs:
            self._add(self.claims.of_link(uid), Lane.BULK)

    def resolved(self, uid: str, addresses: tuple[str, ...], refused: tuple[str, ...]) -> None:
        """Take in where the gateway is, and what is wrong with other addresses of it."""
        target = self.targets.get(uid)
        if target is None:
            return
        if target.refused_addresses != refused:
            target.refused_addresses = refused
            self._touched(uid)
        if target.gateway_addresses != addresses:
            target.gateway_addresses = addresses
            self._changed(target)
            self._add(self.claims.of_link(uid), Lane.BULK)

    def complain(self, complaints: Mapping[str, tuple[str, ...]]) -> None:
        """Take in what proxies refuse, by the name of the link that it is for."""
        for target in self.targets.values():
            found = complaints.get(target.link.cluster, ())
            if target.complaints != found:
                target.complaints = found
                self._touched(target.uid)

    def report(self, name: Key, reports: Iterable[Report]) -> None:
        """Note why claimants of ``name`` cannot have it: all of them, none forgets them."""
        given: dict[str, tuple[Report, ...]] = {}
        for one in reports:
            given[one.link_uid] = (*given.get(one.link_uid, ()), one)
        for uid in given.keys() | {uid for uid, known in self.reports.items() if name in known}:
            known = self.reports.setdefault(uid, {})
            if known.pop(name, ()) != given.get(uid, ()):
                self._touched(uid)
            if uid in given:
                known[name] = given[uid]

    def _know(self, link: Link) -> None:
        target = self.targets.get(link.uid)
        if target is None:
            target = self.targets[link.uid] = Target(link)
            target.gateway_addresses = self._recorded_addresses(link)
            changed = True
        else:
            known, before = target.link, (target.is_armed, target.is_ending)
            link = target.link = target.placed(link)
            if known.status.cluster_uid and not link.status.cluster_uid:
                target.pinned = ""  # somebody wants whatever cluster answers next to be pinned
            elif not target.is_misrecorded:
                target.pin(link.status.cluster_uid or target.pinned)
            changed = known.spec != link.spec or before != (target.is_armed, target.is_ending)
        if changed:
            self._reclaim(target)
        self._find_rivals()
        self._changed(target)

    def _forget(self, uid: str) -> None:
        del self.targets[uid], self._views[uid]
        self.reports.pop(uid, None)
        self._add(self.claims.drop(uid), Lane.BULK)
        self._find_rivals()
        self._touched(uid)

    def _find_rivals(self) -> None:
        """Let only the oldest of several links to one cluster make mirrors."""
        oldest: dict[str, Target] = {}
        for target in sorted(self.targets.values(), key=attrgetter("age")):
            first = oldest.setdefault(target.pinned, target)
            rival = first.link.cluster if target.pinned and first is not target else ""
            if rival != target.rival:
                target.rival = rival
                self._reclaim(target)

    def _recorded_addresses(self, link: Link) -> tuple[str, ...]:
        """Return the gateway's addresses as our slices have them: until its names are resolved,
        nobody knows better. Somebody may have edited one of them, so that most have to agree. With
        our own data plane they have the egress's addresses, which are no gateway's."""
        if link.spec.data_plane == "envoy":
            return ()
        found: dict[Key, set[str]] = {}
        for one in map(self._slice, self.owned_slices[link.uid]):
            plain = (each for each in one.endpoints if each.hostname is None)
            addresses = {ip for each in plain for ip in each.addresses}
            for name in service_of(one) if addresses else ():
                found.setdefault(name, set()).update(addresses)
        said = Counter(tuple(sorted(one)) for one in found.values())
        return max(said, key=lambda one: (said[one], one), default=())

    def _reclaim(self, target: Target) -> None:
        """Start over with a link's claims, for want of knowing what has changed."""
        uid = target.uid
        target.rebuild()
        hold(target, target.admitted.exports, self._slices_of)
        names = set(self.owned[uid]) | self._sliced(uid)
        gone = self.claims.exports_of(uid) - target.admitted.exports.keys()
        names |= self._claimed(target, (*gone, *target.admitted.exports))
        self._settle(target, names, Lane.BULK)

    def _held_in(self, namespaces: set[str]) -> set[Key]:
        """Return the names in some namespaces under which there is something of ours."""
        names = {name for uid in self.targets for name in self.owned[uid] | self._sliced(uid)}
        return {name for name in names if name.namespace in namespaces}

    def _sliced(self, uid: str) -> set[Key]:
        """Return the names for which a link has slices here."""
        return {key for one in self.owned_slices[uid] for key in service_of(self._slice(one))}

    def _slice(self, key: Key) -> EndpointSlice:
        return self.slices.objects[key]

    def _claimed(self, target: Target, exports: Iterable[Key]) -> set[Key]:
        """Let exports claim what they need by now; return the names that they claim or claimed."""
        names: set[Key] = set()
        for key in exports:
            export = target.admitted.exports.get(key)
            wanted = () if export is None else links.claims(export, target.link)
            names |= self.claims.put(target.uid, key, wanted)
        return names

    def _settle(self, target: Target, names: set[Key], lane: Lane) -> None:
        """See to what follows from changed claims: orphans, the guard's word, names to plan."""
        for name in names:
            self._orphans.recheck(name)
        self._judge({target.uid})
        self._add(names, lane)

    def _judge(self, uids: Iterable[str]) -> None:
        for target in filter(None, map(self.targets.get, uids)):
            before, orphans = target.guard, self._orphans.of(target.uid)
            if target.is_synced and target.is_armed:
                mirrors = len(self.owned[target.uid])
                target.guard = guard.judge(before, mirrors, orphans, target.listing)
            self._changed(target)
            if before.holds and not target.guard.holds:
                # Of a mirror that somebody has taken away meanwhile, slices may be left.
                self._add(before.held | orphans | self._sliced(target.uid), Lane.BULK)

    def _changed(self, target: Target) -> None:
        """Let the planner, the guard's second look and the status see ``target`` as it is."""
        self._views[target.uid] = target.view()
        if target.guard.holds or target.kept:
            target.doubt.set()
        else:
            target.doubt.clear()
        self._touched(target.uid)

    def _concerned(self, change: Change[Key, Service]) -> set[Key]:
        """Return the names to plan: the one that changed, and the headless mirror it belongs to.

        One that has slices of ours matters whoever's Service it is: they would be that one's.
        """
        names = set()
        key = change.key
        if key in self.claims.by_name or _owners(change) or key in self._slices_of:
            names.add(key)
        for one in (change.before, change.after):
            if one is not None and mirror.owner(one.metadata):
                parent = one.metadata.labels.get(HEADLESS_MIRROR)
                if parent:
                    names.add(Key(change.key.namespace, parent))
        return names

    def _add(self, names: Iterable[Key], lane: Lane) -> None:
        for name in names:
            if not self._expected.defers(name, lane):
                self._queue(name, lane)

    def _echo(self, names: Iterable[Key], lane: Lane) -> None:
        """Queue names of which this cluster shows something. While one rests that is mostly what
        we have written ourselves, which need not overtake anything."""
        for name in names:
            if not self._expected.defers(name, Lane.BULK):
                self._queue(name, lane)

    def _show(self, kind: type[W], event: Event[Key, W]) -> None:
        match event:
            case Listed():
                self._expected.relisted(kind)
            case Put(obj):
                metadata = obj.metadata
                self._expected.seen(Thing(kind, metadata.key), metadata.resource_version)
                if metadata.deletion_timestamp is not None:
                    self._expected.seen(Thing(kind, metadata.key), GONE)
            case Gone(key):
                self._expected.seen(Thing(kind, key), GONE)


def _key(obj: Namespace | Service | EndpointSlice | Link) -> Key:
    return obj.metadata.key


def _owner(obj: Service | EndpointSlice) -> tuple[str, ...]:
    uid = mirror.owner(obj.metadata)
    return (uid,) if uid else ()


def _owners(change: Change[Key, Service] | Change[Key, EndpointSlice]) -> set[str]:
    both = (one for one in (change.before, change.after) if one is not None)
    return {uid for one in both if (uid := mirror.owner(one.metadata))}


def _lane(event: Event[Key, Service] | Event[Key, EndpointSlice]) -> Lane:
    return Lane.BULK if isinstance(event, Listed) else Lane.SINGLE
