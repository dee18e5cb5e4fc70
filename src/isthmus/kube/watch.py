"""The bytes of a watch turned into events: a protocol without a network in it."""

from collections.abc import Iterator
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec

from isthmus.kube.codec import Bad, Mark, decoder, key_of, marked, uid_of, version_of, why
from isthmus.kube.errors import Garbled, Unreachable
from isthmus.kube.failures import Status, refusal
from isthmus.kube.resources import Resource
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE
from isthmus.runtime.cache import Gone, Put
from isthmus.runtime.lines import Lines, Overlong

T = TypeVar("T")

CHANGES = ("ADDED", "MODIFIED", "DELETED")
# https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Seen(msgspec.Struct, Generic[T], frozen=True):
    """Something happened to one object; ``version`` is where to go on from.

    ``uid`` says which one is gone: another may have its name by now.
    """

    version: str
    key: Key
    event: Put[T] | Gone[Key] | Bad
    uid: str = ""


class Bookmark(msgspec.Struct, frozen=True):
    """Nothing happened up to ``version``; ``complete`` ends the initial state of a stream."""

    version: str
    complete: bool = False


class Failed(msgspec.Struct, frozen=True):
    """The server ends the watch and says why."""

    error: IsthmusError


WatchEvent: TypeAlias = Seen[T] | Bookmark | Failed


class _Line(msgspec.Struct, Generic[T], frozen=True):
    type: str
    object: T


class _BookmarkMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct, frozen=True):
    metadata: _BookmarkMetadata


class WatchDecoder(Generic[T]):
    """Reads one watch of ``resource``; ``what`` is the call that errors are about."""

    def __init__(self, resource: Resource[T], what: object, cap: int) -> None:
        self._resource = resource
        self._what = what
        self._lines = Lines(cap)
        self._decoder = decoder(
            cast(
                "type[_Line[T]]",
                _Line[resource.type],  # type: ignore[name-defined]  # known at run time only
            )
        )

    def receive(self, chunk: bytes) -> Iterator[WatchEvent[T]]:
        """Yield the events that ``chunk`` completes; raise ``Garbled`` at what is not one."""
        try:
            for line in self._lines.receive(chunk):
                yield self._event(line)
        except (Garbled, Overlong) as error:
            raise Garbled(f"{self._what}: {error}") from error

    def finish(self) -> None:
        """Raise ``Unreachable`` if the stream ended in the middle of an event."""
        if self._lines.is_open:
            raise Unreachable(f"{self._what}: the stream broke off in the middle of a line")

    def _event(self, line: bytes) -> WatchEvent[T]:
        """Decode in one pass; what does not fit is decoded again for what it is."""
        try:
            found = self._decoder.decode(line)
            if found.type in CHANGES:
                marked(found.object)
        except UNREADABLE as error:
            return self._unusual(line, why(error))
        if found.type in ("ADDED", "MODIFIED"):
            return _seen(key_of(found.object), version_of(found.object), Put(found.object))
        if found.type == "DELETED":
            key = key_of(found.object)
            return _seen(key, version_of(found.object), Gone(key), uid_of(found.object))
        return self._unusual(line, f"unknown type {found.type[:20]!r}")

    def _unusual(self, line: bytes, reason: str) -> WatchEvent[T]:
        try:
            found = decoder(_Line[msgspec.Raw]).decode(line)
            match found.type:
                case "BOOKMARK":
                    return _bookmark(found.object)
                case "ERROR":
                    status = decoder(Status).decode(found.object)
                    return Failed(refusal(status, self._what))
                case "ADDED" | "MODIFIED":
                    mark = decoder(Mark).decode(found.object).metadata
                    return _seen(mark.key, mark.resource_version, Bad(mark.key, reason))
                case "DELETED":
                    mark = decoder(Mark).decode(found.object).metadata
                    return _seen(mark.key, mark.resource_version, Gone(mark.key), mark.uid)
        except UNREADABLE as error:
            raise Garbled(f"a line is no event: {why(error)}") from error
        raise Garbled(f"a line is no event: {reason}")


def _seen(key: Key, version: str, event: Put[T] | Gone[Key] | Bad, uid: str = "") -> Seen[T]:
    if not version:
        raise Garbled(f"an event about {one_line(str(key), 100)} has no resource version")
    return Seen(version, key, event, uid)


def _bookmark(raw: msgspec.Raw) -> Bookmark:
    metadata = decoder(_BookmarkObject).decode(raw).metadata
    if not metadata.resource_version:
        raise Garbled("a bookmark has no resource version")
    complete = (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"
    return Bookmark(metadata.resource_version, complete)
