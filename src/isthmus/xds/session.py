"""One stream of incremental (delta) xDS with one proxy, as a machine that is fed and answers.

Three promises, whatever the proxy says and whenever snapshots come:

- Only what the proxy does not have is sent, and a version it refused is not sent again.
- Make before break. A listener or route goes out once every cluster that it needs is held, with
  the endpoints and secrets of that cluster; a cluster is removed once nothing that the proxy may
  hold needs it. This is decided for each resource: a bad one holds up only what needs it.
- At most one response of each type is unanswered. A newer snapshot replaces what still waits.

Types come in two kinds. Clusters, listeners and scoped routes are sent because they exist.
Endpoints, secrets and routes are sent because the proxy asks for them by name, which it does when
it gets the cluster or listener that needs them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from isthmus.model.errors import Permanent
from isthmus.xds.references import ALL, Reference, families
from isthmus.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SCOPED_ROUTES, SECRET
from isthmus.xds.snapshot import Entry, Snapshot
from isthmus.xds.topic import REMOVED, WILDCARD, Flight, Held, Refusal, Topic, apart

ORDER = (CLUSTER, ENDPOINTS, SECRET, LISTENER, SCOPED_ROUTES, ROUTES)
ASKED_FOR = frozenset((ENDPOINTS, SECRET, ROUTES))  # by name, by whatever needs them
NAMES = 100_000  # that one proxy may ask for, or say it has, of one type


class TooManyNames(Permanent):
    """The proxy asks for more than any snapshot holds; it is broken or means harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of the proxy: an answer to a response (by nonce), a change of interest, or both."""

    type_url: str
    subscribe: tuple[str, ...] = ()
    unsubscribe: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)  # what it has, at the stream's start
    nonce: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A response to the proxy."""

    type_url: str
    nonce: str
    entries: Mapping[str, Entry]
    removed: tuple[str, ...]


class Session:
    """What one proxy was told on one stream, and what it made of it."""

    def __init__(self) -> None:
        self._wanted: Snapshot | None = None
        self._topics: dict[str, Topic] = {}
        self._nonces = count(1)
        # How many resources that the proxy may have need a certain one; how many, by type, need
        # nobody knows what.
        self._users: Counter[Reference] = Counter()
        self._unknown: Counter[str] = Counter()
        # What left the snapshot before the proxy could ask for it, but will be asked for.
        self._kept: dict[Reference, Entry] = {}
        self._families: tuple[Mapping[str, Entry], dict[str, list[str]]] = ({}, {})

    def publish(self, snapshot: Snapshot) -> list[Said]:
        """Aim at this snapshot from now on."""
        before, self._wanted = self._wanted or Snapshot(), snapshot
        self._keep(before, snapshot)
        for type_url, topic in self._topics.items():
            old, new = before.of(type_url), snapshot.of(type_url)
            if old is new:
                continue
            for name in [name for name, entry in new.items() if old.get(name) is not entry]:
                self._look(type_url, topic, name)
            for name in [name for name in old if name not in new]:
                self._look(type_url, topic, name)
        return self._respond()

    def _keep(self, before: Snapshot, snapshot: Snapshot) -> None:
        for type_url in ASKED_FOR:
            old, new = before.of(type_url), snapshot.of(type_url)
            if old is not new:
                gone = {Reference(type_url, name): old[name] for name in old.keys() - new.keys()}
                self._kept |= {need: entry for need, entry in gone.items() if self._users[need]}

    def receive(self, asked: Asked) -> list[Said]:
        """Take in a request. One about a type that is not ours has no effect."""
        if asked.type_url not in ORDER:
            return []
        topic = self._topics.get(asked.type_url)
        if topic is None:
            topic = self._topics[asked.type_url] = Topic()
            self._start(topic, asked)
        elif not (self._answered(topic, asked) | self._resubscribed(topic, asked)):
            return []
        if len(topic.names) > NAMES or len(topic.held) > NAMES:
            raise TooManyNames(f"a proxy names more than {NAMES} resources of {asked.type_url}")
        return self._respond()

    def acknowledged(self, type_url: str, name: str) -> str | None:
        """Return the version that the proxy has of a resource, if that is certain."""
        topic = self._topics.get(type_url)
        if topic is None or name in topic.doubted or name not in topic.held:
            return None
        return topic.held[name].version

    def uses(self, type_url: str, name: str) -> bool:
        """Tell whether the proxy may have something that needs this resource."""
        if self._topics.keys() >= {CLUSTER, LISTENER} and not any(self._unknown.values()):
            return self._users[Reference(type_url, name)] > 0
        return True  # it has not said yet what it has

    @property
    def refused(self) -> Mapping[Reference, Refusal]:
        """What the proxy does not take, of what it should have now."""
        return {
            Reference(type_url, name): refusal
            for type_url, topic in self._topics.items()
            for name, refusal in topic.refused.items()
        }

    @property
    def pending(self) -> int:
        """How many resources are on their way, or wait for others."""
        return sum(
            len(topic.pending) + len(topic.flight.entries if topic.flight else ())
            for topic in self._topics.values()
        )

    # What the proxy says.

    def _start(self, topic: Topic, asked: Asked) -> None:
        """Take in the first request of a type, which also says what an earlier stream left."""
        named = set(asked.subscribe)
        by_default = not named and asked.type_url not in ASKED_FOR
        topic.wildcard = by_default or WILDCARD in named
        topic.names = named - {WILDCARD}
        topic.owing = topic.wildcard and not asked.versions
        topic.started_empty = not asked.versions
        for name, version in asked.versions.items():
            if topic.wants(name):
                topic.held[name] = Held(version, None)
                self._claim(asked.type_url, None)
        if asked.type_url == ENDPOINTS and CLUSTER not in self._topics:
            # Envoy speaks of clusters first, unless some of them wait for their endpoints.
            topic.again = set(topic.held)
        wanted = self._all(asked.type_url) if topic.wildcard else {}
        for name in (*topic.held, *topic.names, *wanted):
            self._look(asked.type_url, topic, name)

    def _answered(self, topic: Topic, asked: Asked) -> bool:
        flight = topic.flight
        if flight is None or asked.nonce != flight.nonce:
            return False
        if asked.error is None:
            for name, entry in flight.entries.items():
                self._took(asked.type_url, topic, name, entry)
        topic.flight = None
        if asked.error is not None:
            self._refused(asked.type_url, topic, flight, asked.error)
        return True

    def _took(self, type_url: str, topic: Topic, name: str, entry: Entry | None) -> None:
        for needs in topic.uses(name):
            self._release(type_url, needs)
        topic.held.pop(name, None)
        topic.doubted.pop(name, None)
        if entry is None:
            if name in topic.names:
                topic.absent.add(name)
        elif topic.wants(name):
            # What it needs was claimed when it was sent, and is not let go for a moment between.
            topic.held[name] = Held(entry.version, entry.needs)
        else:
            self._release(type_url, entry.needs)

    def _refused(self, type_url: str, topic: Topic, flight: Flight, message: str) -> None:
        """Note a refusal of one resource; of several, find out which of them is meant."""
        if len(flight.entries) > 1:
            topic.groups.extendleft(reversed(apart(flight.entries, message)))
        for name, entry in flight.entries.items():
            version = "" if entry is None else entry.version
            if len(flight.entries) == 1:
                self._settle(type_url, topic, name, version)
                topic.refused[name] = Refusal(version, message)
            if entry is not None:
                if len(flight.entries) == 1 or not topic.wants(name):
                    self._release(type_url, entry.needs)
                else:
                    topic.doubted.setdefault(name, []).append(Held(version, entry.needs))
            elif len(flight.entries) > 1 and topic.has(name):
                topic.doubted.setdefault(name, []).append(REMOVED)  # or not
            self._look(type_url, topic, name)

    def _settle(self, type_url: str, topic: Topic, name: str, version: str) -> None:
        """Conclude from a refusal of its own that the proxy never took this version."""
        kept = []
        for one in topic.doubted.pop(name, ()):
            if one.version == version:
                self._release(type_url, one.needs)
            else:
                kept.append(one)
        if kept:
            topic.doubted[name] = kept

    def _resubscribed(self, topic: Topic, asked: Asked) -> bool:
        for name in asked.unsubscribe:
            if name == WILDCARD:
                topic.wildcard = False
            topic.names.discard(name)
        if asked.unsubscribe:
            known = (topic.held, topic.doubted, topic.pending, topic.refused)
            for name in {name for names in known for name in names if not topic.wants(name)}:
                self._forget(asked.type_url, topic, name)
            topic.absent &= topic.names
        for name in asked.subscribe:
            if name == WILDCARD:
                topic.wildcard = topic.owing = True
                for one in self._all(asked.type_url):
                    self._look(asked.type_url, topic, one)
                continue
            topic.names.add(name)
            # It may have forgotten what it had, and then says so only like this.
            if topic.has(name) or topic.is_moving(name):
                topic.again.add(name)
            topic.refused.pop(name, None)
            self._look(asked.type_url, topic, name)
        return bool(asked.subscribe or asked.unsubscribe)

    def _forget(self, type_url: str, topic: Topic, name: str) -> None:
        held = topic.held.pop(name, None)
        for one in (*([held] if held else ()), *topic.doubted.pop(name, ())):
            self._release(type_url, one.needs)
        topic.refused.pop(name, None)
        topic.pending.pop(name, None)
        topic.again.discard(name)

    # What we say.

    def _respond(self) -> list[Said]:
        if self._wanted is None:
            return []
        return [
            said
            for type_url in ORDER
            if (topic := self._topics.get(type_url)) is not None and topic.flight is None
            if (said := self._next(type_url, topic)) is not None
        ]

    def _next(self, type_url: str, topic: Topic) -> Said | None:
        due = dict(self._due(type_url, topic))
        while topic.groups and due:
            group = {name: due[name] for name in topic.groups.popleft() if name in due}
            if group:
                due = group
                break
        if not due and not (topic.owing and not topic.pending):
            return None
        topic.owing = False
        topic.flight = Flight(str(next(self._nonces)), due)
        for name, entry in due.items():
            topic.pending.pop(name, None)
            topic.again.discard(name)
            if entry is not None:
                self._claim(type_url, entry.needs)
                self._resend_endpoints(entry)
        return Said(
            type_url=type_url,
            nonce=topic.flight.nonce,
            entries={name: entry for name, entry in due.items() if entry is not None},
            removed=tuple(name for name, entry in due.items() if entry is None),
        )

    def _resend_endpoints(self, entry: Entry) -> None:
        """Follow a cluster by its endpoints, even if the proxy has them and they did not change.

        Envoy builds a changed cluster anew and lets it wait for endpoints, but does not ask again
        for what it asked for before; and it does not answer until the cluster need not wait.
        """
        topic = self._topics.get(ENDPOINTS)
        if topic is None:
            return
        for need in entry.needs:
            if need.type_url != ENDPOINTS or self._one(need) is None:
                continue
            if topic.has(need.name) or topic.is_moving(need.name):
                topic.again.add(need.name)
                self._look(ENDPOINTS, topic, need.name)

    def _due(self, type_url: str, topic: Topic) -> Iterator[tuple[str, Entry | None]]:
        """Yield what can be sent now; forget what need not be sent any more."""
        removable = type_url != CLUSTER or (bool(topic.pending) and self._knows_users())
        stands: dict[Reference, bool] = {}
        for name in list(topic.pending):
            entry = self._one(Reference(type_url, name))
            if not topic.wants(name):
                needless = True
            elif entry is not None:
                needless = topic.is_settled(name, entry.version)
            else:
                needless = self._is_gone(type_url, topic, name)
            if needless:
                del topic.pending[name]
            elif entry is None:
                unused = removable and not self._users[Reference(type_url, name)]
                if type_url in ASKED_FOR or unused:
                    yield name, None
            elif all(self._stands(need, stands) for need in self._footing(entry)):
                yield name, entry

    def _is_gone(self, type_url: str, topic: Topic, name: str) -> bool:
        """Tell whether nothing is left to say about a resource that should not be there."""
        if name in topic.refused:
            return True
        if type_url in ASKED_FOR and name in topic.held and name not in topic.again:
            return True  # the proxy gives it up when it has given up what needs it
        if topic.has(name) or name in topic.again:
            return False
        return name not in topic.names or name in topic.absent

    def _footing(self, entry: Entry) -> Iterator[Reference]:
        """Yield the clusters that must be there before this one is sent."""
        for need in entry.needs:
            if need.type_url == CLUSTER:
                yield need
            elif need.type_url == ROUTES:
                routes = self._one(need)
                if routes is not None:
                    yield from self._footing(routes)

    def _stands(self, clusters: Reference, known: dict[Reference, bool]) -> bool:
        """Tell whether all clusters that are meant can be used, as far as they ever will be."""
        if clusters not in known:
            if clusters.is_wide:
                known[clusters] = not any(map(self._is_coming, self._meant(clusters)))
            else:
                topic = self._topic(CLUSTER)
                stands = clusters.name in topic.held and not self._is_coming(clusters.name)
                known[clusters] = stands and self._is_complete(topic.held[clusters.name])
        return known[clusters]

    def _is_coming(self, cluster: str) -> bool:
        """Tell whether a cluster, or what it asks for, is on its way or has still to be sent."""
        topic = self._topics.get(CLUSTER)
        wanted = self._one(Reference(CLUSTER, cluster))
        if topic is None or wanted is None or topic.is_moving(cluster):
            return True
        if not topic.is_settled(cluster, wanted.version):
            return True
        held = topic.held.get(cluster)
        return held is not None and any(
            need.type_url in ASKED_FOR and self._topic(need.type_url).is_expected(need.name)
            for need in held.needs or ()
        )

    def _is_complete(self, cluster: Held) -> bool:
        return all(
            need.type_url not in ASKED_FOR or need.name in self._topic(need.type_url).held
            for need in cluster.needs or ()
        )

    def _meant(self, clusters: Reference) -> list[str]:
        wanted = self._all(CLUSTER)
        if self._families[0] is not wanted:
            found: dict[str, list[str]] = {}
            for name in wanted:
                for family in families(name):
                    found.setdefault(family, []).append(name)
            self._families = wanted, found
        return self._families[1].get(clusters.name, [])

    def _knows_users(self) -> bool:
        """Tell whether we know of everything that the proxy may have which clusters it needs."""
        if any(self._unknown[type_url] for type_url in (LISTENER, SCOPED_ROUTES, ROUTES)):
            return False
        if LISTENER not in self._topics and not self._topics[CLUSTER].started_empty:
            return False  # it has listeners, and has not said so yet
        if SCOPED_ROUTES not in self._topics and self._has_scopes():
            return False
        routes = self._topic(ROUTES)
        return all(
            routes.has(need.name) or need.name in routes.refused or need.name in routes.absent
            for need in self._users
            if need.type_url == ROUTES
        )

    def _has_scopes(self) -> bool:
        """Tell whether the proxy has a listener with scoped routes, or is to get one: it may have
        kept the scopes of another, which it has not spoken of yet."""
        scopes, listeners = Reference(SCOPED_ROUTES, ALL), self._topic(LISTENER)
        return self._users[scopes] > 0 or any(
            scopes in entry.needs and name not in listeners.refused
            for name, entry in self._all(LISTENER).items()
        )

    # Bookkeeping.

    def _topic(self, type_url: str) -> Topic:
        return self._topics.get(type_url, Topic())

    def _all(self, type_url: str) -> Mapping[str, Entry]:
        return {} if self._wanted is None else self._wanted.of(type_url)

    def _one(self, reference: Reference) -> Entry | None:
        wanted = self._all(reference.type_url).get(reference.name)
        return wanted if wanted is not None else self._kept.get(reference)

    def _look(self, type_url: str, topic: Topic, name: str) -> None:
        known = topic.held.get(name)
        topic.look(name, self._one(Reference(type_url, name)))
        if known is not None and known is not topic.held[name]:
            self._claim(type_url, topic.held[name].needs)
            self._release(type_url, known.needs)

    def _claim(self, type_url: str, needs: frozenset[Reference] | None) -> None:
        if needs is None:
            self._unknown[type_url] += 1
        else:
            self._users.update(needs)

    def _release(self, type_url: str, needs: frozenset[Reference] | None) -> None:
        if needs is None:
            self._unknown[type_url] -= 1
            return
        for need in needs:
            self._users[need] -= 1
            if not self._users[need]:
                del self._users[need]
                if self._kept.pop(need, None) is not None and need.type_url in self._topics:
                    # Nobody wants it any more, so nobody minds that the proxy did not take it.
                    self._topics[need.type_url].refused.pop(need.name, None)
