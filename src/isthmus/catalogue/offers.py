"""What this cluster offers, encoded once for all who follow it, and what each of them may see.

A follower costs the names that it has not been told about yet, however slow it is: not what
happened is kept for it, but what it was told last.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from isthmus.catalogue.errors import Forbidden, Unavailable
from isthmus.catalogue.messages import Complete, Hello, line, offering, withdrawing
from isthmus.core.grant import Permit
from isthmus.core.offer import Offer
from isthmus.model.objects import Key

MOST_STREAMS = 8  # of one source: two replicas, each with a second look, twice at a rollout
CHUNK = 64 * 1024  # bytes that are taken at once
END = Key("", "")  # stands among names for the end of the snapshot


@dataclass(frozen=True, slots=True)
class Entry:
    text: bytes
    labels: Mapping[str, str]


class Offers:
    """Everything that is offered. ``hello`` returns None while this cluster is not known."""

    def __init__(self, hello: Callable[[], Hello | None]) -> None:
        self._hello = hello
        self._entries: dict[Key, Entry] = {}
        self._permits: dict[str, tuple[Permit, ...]] = {}
        self._streams: dict[str, dict[Stream, None]] = {}  # the oldest first
        self._closed = False

    @property
    def streams(self) -> Mapping[str, int]:
        """How many follow, by the cluster they are from."""
        return {cluster: len(known) for cluster, known in self._streams.items()}

    def __contains__(self, key: Key) -> bool:
        """Tell whether something is said about ``key`` now."""
        return key in self._entries

    def put(self, key: Key, offer: Offer | None) -> None:
        """Let ``key`` offer this from now on, or nothing."""
        before = self._entries.pop(key, None)
        after = None if offer is None else Entry(offering(offer), offer.labels)
        if after is not None:
            self._entries[key] = after
        if after == before:
            return
        for known in self._streams.values():
            for stream in known:
                stream.touch((key,))

    def permit(self, permits: Iterable[Permit]) -> None:
        """Show to each cluster what these permits cover, from now on."""
        cluster = attrgetter("cluster")
        grouped = groupby(sorted(permits, key=cluster), key=cluster)
        before, self._permits = self._permits, {name: tuple(given) for name, given in grouped}
        for name, known in self._streams.items():
            if self._permits.get(name) != before.get(name):
                for stream in known:
                    stream.touch(self._entries)

    def is_permitted(self, cluster: str) -> bool:
        return cluster in self._permits

    def open(self, cluster: str) -> "Stream":
        """Begin a stream for ``cluster``; raise an error if it cannot have one."""
        hello = self._hello()
        if hello is None or self._closed:
            raise Unavailable("this cluster is not known completely yet")
        if not self.is_permitted(cluster):
            raise Forbidden(f"cluster {cluster} has no Grant here")
        known = self._streams.setdefault(cluster, {})
        if len(known) >= MOST_STREAMS:
            # Whoever comes back before we know that it was gone is the newest.
            oldest = next(iter(known))
            oldest.end()
            del known[oldest]
        stream = Stream(self, cluster, hello)
        known[stream] = None
        return stream

    def forget(self, stream: "Stream") -> None:
        """Take in that nobody listens to ``stream`` any more."""
        known = self._streams.get(stream.cluster, {})
        known.pop(stream, None)
        if not known:
            self._streams.pop(stream.cluster, None)

    def close(self) -> None:
        """Let all streams end, and begin no more."""
        self._closed = True
        for known in self._streams.values():
            for stream in known:
                stream.end()

    def names(self) -> Iterable[Key]:
        return self._entries

    def shown(self, key: Key, cluster: str) -> bytes | None:
        """Return what ``cluster`` is told about ``key``; None if that is nothing."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        given = self._permits.get(cluster, ())
        return entry.text if any(one.covers(key, entry.labels) for one in given) else None


class Stream:
    """What one follower was told, and what it has to be told yet."""

    def __init__(self, offers: Offers, cluster: str, hello: Hello) -> None:
        self.cluster = cluster
        self.hello = hello
        self.touched = asyncio.Event()
        self._offers = offers
        self._told: dict[Key, bytes] = {}
        # Names that are touched while they wait keep their place: what changes meanwhile is
        # either told as it is then, or after the end of the snapshot.
        self._waiting = OrderedDict.fromkeys((*offers.names(), END))
        self._is_ended = False

    @property
    def is_revoked(self) -> bool:
        return not self._offers.is_permitted(self.cluster)

    @property
    def is_over(self) -> bool:
        return self._is_ended or self.is_revoked

    def touch(self, names: Iterable[Key]) -> None:
        self._waiting.update(dict.fromkeys(names))
        self.touched.set()

    def end(self) -> None:
        """Let the follower go, as soon as it listens."""
        self._is_ended = True
        self.touched.set()

    def take(self) -> bytes:
        """Return what is to be told next, as much as goes into one piece; empty if nothing."""
        self.touched.clear()
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < CHUNK and not self.is_over:
            key, _ = self._waiting.popitem(last=False)
            text = self._next(key)
            if text is not None:
                lines.append(text)
                size += len(text)
        return b"".join(lines)

    def _next(self, key: Key) -> bytes | None:
        if key == END:
            return line(Complete(count=len(self._told)))
        before, after = self._told.get(key), self._offers.shown(key, self.cluster)
        if before == after:
            return None
        if after is None:
            del self._told[key]
            return withdrawing(key)
        self._told[key] = after
        return after
