"""What every part of the request path works on: the store, what follows it, time and chance."""

import random
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from isthmus.embedded.state.addresses import Addresses
from isthmus.embedded.state.owners import Owners
from isthmus.embedded.state.registry import Registry
from isthmus.embedded.state.store import Event, Key, Record, Store
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

# Vowels and look-alikes are left out, so that no generated name spells a word.
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX = 58


@dataclass(slots=True)
class Agenda:
    """The changes that nobody has looked at yet for what must follow from them."""

    events: deque[Event] = field(default_factory=deque)

    def reset(self, records: Iterable[Record]) -> None:  # noqa: ARG002  # restored: all settled
        self.events.clear()

    def note(self, event: Event) -> None:
        self.events.append(event)


@dataclass(slots=True, kw_only=True)
class Plane:
    """One cluster's control plane."""

    store: Store
    registry: Registry
    addresses: Addresses
    wall: Callable[[], datetime]
    random: random.Random
    ca_pem: str  # the certificate by which pods verify the API
    owners: Owners = field(default_factory=Owners)
    agenda: Agenda = field(default_factory=Agenda)

    def __post_init__(self) -> None:
        for follower in (self.registry, self.addresses, self.owners, self.agenda):
            self.store.follow(follower)

    def timestamp(self) -> str:
        return second_time(self.wall())

    def uid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def generated(self, prefix: str) -> str:
        return prefix[:_LONGEST_PREFIX] + "".join(self.random.choices(_SUFFIX, k=5))

    def find(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        record = self.store.get(Key(f"{group}/{plural}", namespace, name))
        return record.object if record else None

    def all(self, group: str, plural: str, namespace: str | None = None) -> Iterable[JsonObject]:
        return (record.object for record in self.store.scan(f"{group}/{plural}", namespace or ""))
