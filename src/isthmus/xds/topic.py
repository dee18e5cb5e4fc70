"""What is known of one type of resource on one stream: asked for, on its way, held, refused."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from isthmus.xds.references import Reference
from isthmus.xds.snapshot import Entry

WILDCARD = "*"


class Held(NamedTuple):
    """A resource that the proxy has. What it needs is unknown if another controller sent it."""

    version: str
    needs: frozenset[Reference] | None


REMOVED = Held("", frozenset())  # what is left of a resource that may be gone


class Refusal(NamedTuple):
    """What the proxy said about one version of one resource; "" is the version of a removal."""

    version: str
    message: str


class Flight(NamedTuple):
    """The response that the proxy has not answered yet. None stands for a removal."""

    nonce: str
    entries: Mapping[str, Entry | None]


@dataclass(slots=True)
class Topic:
    """One type on one stream.

    ``held`` is what the proxy acknowledged. After a response was refused as a whole, nobody knows
    which of its resources were taken all the same: until that is settled they are ``doubted``.
    """

    wildcard: bool = False
    names: set[str] = field(default_factory=set)
    held: dict[str, Held] = field(default_factory=dict)
    doubted: dict[str, list[Held]] = field(default_factory=dict)
    refused: dict[str, Refusal] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)  # told to be nowhere
    again: set[str] = field(default_factory=set)  # to be sent although the proxy has it
    pending: dict[str, None] = field(default_factory=dict)  # to be looked at, oldest first
    groups: deque[tuple[str, ...]] = field(default_factory=deque)  # to be tried apart
    flight: Flight | None = None
    owing: bool = False  # an answer, even an empty one
    started_empty: bool = True

    def wants(self, name: str) -> bool:
        return self.wildcard or name in self.names

    def has(self, name: str) -> bool:
        """Tell whether the proxy may have it in any version."""
        return name in self.held or name in self.doubted

    def is_settled(self, name: str, version: str) -> bool:
        """Tell whether the proxy has this version for certain, or has refused it."""
        if name in self.again:
            return False
        held, refused = self.held.get(name), self.refused.get(name)
        if refused is not None and refused.version == version:
            return True
        return name not in self.doubted and held is not None and held.version == version

    def is_moving(self, name: str) -> bool:
        """Tell whether it is being sent, or has to be."""
        return name in self.again or (self.flight is not None and name in self.flight.entries)

    def is_expected(self, name: str) -> bool:
        """Tell whether something is still to be heard about a resource that is asked for."""
        if self.is_moving(name):
            return True
        return not (name in self.held or name in self.refused or name in self.absent)

    def look(self, name: str, wanted: Entry | None) -> None:
        """Consider a resource whose wanted version may have changed."""
        held = self.held.get(name)
        if wanted is not None and held is not None and held.version == wanted.version:
            self.held[name] = Held(wanted.version, wanted.needs)
        refused = self.refused.get(name)
        if refused is not None and refused.version != ("" if wanted is None else wanted.version):
            del self.refused[name]
        self.absent.discard(name)
        self.pending[name] = None

    def uses(self, name: str) -> Iterator[frozenset[Reference] | None]:
        """Yield what each version needs that the proxy may have had before the last response."""
        if name in self.held:
            yield self.held[name].needs
        for one in self.doubted.get(name, ()):
            yield one.needs


def apart(entries: Mapping[str, Entry | None], message: str) -> list[tuple[str, ...]]:
    """Divide resources that were refused together, to find out which of them are bad.

    Removals go first: what is left may need their place. Resources that the message mentions are
    tried one by one and last, so that the others need not wait for them. Envoy's messages usually
    name the bad ones, but no rule says so; where they do not, halving finds them.
    """
    removed = tuple(name for name, entry in entries.items() if entry is None)
    sent = tuple(name for name, entry in entries.items() if entry is not None)
    if removed and sent:
        return [removed, sent]
    names = removed or sent
    mentioned = [name for name in names if name in message]
    rest = tuple(name for name in names if name not in message)
    if mentioned and rest:
        return [rest, *((name,) for name in mentioned)]
    return [names[: len(names) // 2], names[len(names) // 2 :]]
