"""Reads a catalogue as if whoever sends it meant harm: a protocol without a network in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from isthmus.catalogue.errors import Forbidden, Garbled, WrongCluster
from isthmus.catalogue.messages import (
    VERSION,
    Alive,
    Complete,
    Hello,
    Message,
    Offered,
    Revoked,
    Unfit,
    Withdrawn,
    message,
)
from isthmus.core.export import sound
from isthmus.core.offer import Offer
from isthmus.model import syntax
from isthmus.model.exports import Refused
from isthmus.model.objects import Key
from isthmus.runtime.lines import Lines, Overlong

LONGEST_DOMAIN = 200  # as in the Link's schema
LONGEST_MESSAGE = 200
LONGEST_UID = 128
# Reasons become labels of metrics, so that only those that we know are let through.
REASONS = frozenset(
    {"IsMirror", "ExternalName", "NoPorts", "NoTCPPorts", "InvalidName", "InvalidPort"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much another cluster may make us keep."""

    line_bytes: int = 1 << 20
    total_bytes: int = 256 << 20
    offers: int = 100_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is offered."""

    offers: Mapping[Key, Offer]


@dataclass(frozen=True, slots=True)
class Changed:
    """One offer is another now, or (None) there is none any more."""

    key: Key
    offer: Offer | None


Heard: TypeAlias = Hello | Snapshot | Changed | Alive


class Reader:
    """Reads one stream of ``cluster``'s catalogue, from the first byte on.

    Nothing but a snapshot that is complete, and changes after it, ever comes out: a stream that
    breaks off has said nothing about what is missing.
    """

    def __init__(self, cluster: str, mesh_domain: str, limits: Limits | None = None) -> None:
        self._cluster = cluster
        self._mesh_domain = mesh_domain
        self._limits = limits or Limits()
        self._lines = Lines(self._limits.line_bytes)
        self.messages = 0  # that were heard
        self._met = False
        self._draft: dict[Key, Offer] | None = {}  # None once it is complete
        self._sizes: dict[Key, int] = {}
        self._held = 0

    @property
    def is_complete(self) -> bool:
        return self._draft is None

    def receive(self, chunk: bytes) -> Iterator[Heard]:
        """Yield what ``chunk`` completes; raise an error at what no catalogue would say."""
        try:
            for text in self._lines.receive(chunk):
                self.messages += 1
                yield from self._take(message(text), len(text))
        except (Garbled, Overlong) as error:
            raise Garbled(f"catalogue of {self._cluster}: {error}") from None

    def _take(self, said: Message, size: int) -> Iterator[Heard]:
        if isinstance(said, Hello) == self._met:
            raise Garbled("a hello is the first thing to say, and is said once")
        match said:
            case Hello():
                self._meet(said)
                yield said
            case Offered(export=export):
                _check(export.key)
                yield from self._keep(export.key, Offer(sound(export), export.labels), size)
            case Unfit(refused=refused, labels=labels):
                _check(refused.key)
                yield from self._keep(refused.key, Offer(_harmless(refused), labels), size)
            case Withdrawn(namespace=namespace, name=name):
                yield from self._keep(Key(namespace, name), None, 0)
            case Complete(count=count):
                yield self._complete(count)
            case Alive():
                yield said
            case Revoked():
                raise Forbidden(
                    f"cluster {self._cluster} has withdrawn its last Grant for this one"
                )
            case _:
                assert_never(said)

    def _meet(self, hello: Hello) -> None:
        if hello.version != VERSION:
            raise Garbled(f"it is of version {hello.version}, and {VERSION} is what we know")
        if hello.cluster != self._cluster:
            raise WrongCluster(
                f"the catalogue is that of {hello.cluster[:63]!r}, not of {self._cluster}; "
                "a link has the name of its target"
            )
        if hello.mesh_domain != self._mesh_domain:
            raise WrongCluster(
                f"cluster {self._cluster} is of the mesh {hello.mesh_domain[:253]!r}, "
                f"and this one of {self._mesh_domain!r}"
            )
        if not 0 < len(hello.uid) <= LONGEST_UID or not hello.uid.isprintable():
            raise Garbled("its cluster has no usable UID")
        if len(hello.cluster_domain) > LONGEST_DOMAIN or not syntax.is_subdomain(
            hello.cluster_domain
        ):
            raise Garbled("its cluster has no usable domain")
        self._met = True

    def _keep(self, key: Key, offer: Offer | None, size: int) -> Iterator[Changed]:
        self._held += size - self._sizes.pop(key, 0)
        if offer is not None:
            self._sizes[key] = size
        if len(self._sizes) > self._limits.offers or self._held > self._limits.total_bytes:
            raise Garbled(
                f"it is larger than {self._limits.offers} offers or "
                f"{self._limits.total_bytes} bytes"
            )
        if self._draft is None:
            yield Changed(key, offer)
        elif offer is None:
            self._draft.pop(key, None)
        else:
            self._draft[key] = offer

    def _complete(self, count: int) -> Snapshot:
        draft, self._draft = self._draft, None
        if draft is None or len(draft) != count:
            raise Garbled("it does not hold what it says that it holds")
        return Snapshot(draft)


def _check(key: Key) -> None:
    """Refuse names that no API server would have let a Service have: they are not a Service's."""
    if not (syntax.is_dns_label(key.namespace) and syntax.is_dns_label(key.name)):
        raise Garbled("it offers something under a name that no Service can have")


def _harmless(refused: Refused) -> Refused:
    message = refused.message[:LONGEST_MESSAGE]
    return Refused(
        namespace=refused.namespace,
        name=refused.name,
        reason=refused.reason if refused.reason in REASONS else "Refused",
        message=message if message.isprintable() else "",
    )
