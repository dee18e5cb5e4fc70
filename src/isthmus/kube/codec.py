"""Objects to JSON and back, without dictionaries in between.

A list is decoded in one pass. Only when that fails is it taken apart, so that one object we
cannot read does not hide the others; a list that is not a list is refused whole.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, cast

import msgspec

from isthmus.kube.errors import Garbled
from isthmus.kube.resources import Resource
from isthmus.model.objects import Key, Metadata
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE, Json, JsonObject

T = TypeVar("T")

LONGEST_REASON = 200  # characters of why something cannot be read


class _Described(Protocol):
    @property
    def metadata(self) -> "Metadata | Identity": ...


class Bad(msgspec.Struct, frozen=True):
    """An object that exists but whose content we cannot read."""

    key: Key
    reason: str


class ListMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    resource_version: str
    continue_: str = msgspec.field(default="", name="continue")


class ListOf(msgspec.Struct, Generic[T], frozen=True, kw_only=True, rename="camel"):
    """A list as the API sends it; ``items: null`` is not one, and neither is a Status."""

    kind: str
    api_version: str
    metadata: ListMetadata
    items: tuple[T, ...]


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A list, or one page of it."""

    objects: tuple[T, ...]
    bad: tuple[Bad, ...]
    resource_version: str
    token: str = ""  # of the next page; empty on the last one


class Identity(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class Mark(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is left of an object that cannot be read: which one it is, and its version."""

    metadata: Identity


class _Kind(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = ""
    api_version: str = ""


_decoders: dict[object, Json] = {}


def decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder of ``shape``; making one costs more than using it."""
    found: msgspec.json.Decoder[T] | None = _decoders.get(shape)
    if found is None:
        found = _decoders[shape] = msgspec.json.Decoder(shape)
    return found


def why(error: Exception) -> str:
    """Say why something cannot be read; the decoder quotes as much as its sender likes."""
    return one_line(str(error), LONGEST_REASON)


def marked(obj: T) -> T:
    """Return ``obj``; raise if plain JSON does not say which object it is, as typed ones do."""
    if isinstance(obj, dict):
        msgspec.convert(obj, Mark)
    return obj


def key_of(obj: object) -> Key:
    """Return the key of an object, typed or plain JSON."""
    if isinstance(obj, dict):
        metadata = obj["metadata"]
        return Key(metadata.get("namespace", ""), metadata["name"])
    return cast(_Described, obj).metadata.key


def version_of(obj: object) -> str:
    """Return the resource version of an object, typed or plain JSON."""
    if isinstance(obj, dict):
        return str(obj["metadata"].get("resourceVersion", ""))
    return cast(_Described, obj).metadata.resource_version


def uid_of(obj: object) -> str:
    """Return the UID of an object, typed or plain JSON; empty if it does not say."""
    if isinstance(obj, dict):
        return str(obj["metadata"].get("uid", ""))
    return cast(_Described, obj).metadata.uid


def encoded(resource: Resource[T], obj: T) -> bytes:
    """Return the JSON of ``obj`` with the kind that it does not know itself."""
    if isinstance(obj, dict):
        plain: JsonObject = {**obj, "apiVersion": resource.api_version, "kind": resource.kind}
        return msgspec.json.encode(plain)
    head = b'{"apiVersion":"%b","kind":"%b"' % (
        resource.api_version.encode(),
        resource.kind.encode(),
    )
    rest = msgspec.json.encode(obj)[1:]
    return head + (rest if rest == b"}" else b"," + rest)


def decoded(resource: Resource[T], body: bytes, what: object) -> T:
    """Return the object in ``body``; raise ``Garbled`` if it is something else."""
    try:
        found = decoder(_Kind).decode(body)
        if (found.api_version, found.kind) == (resource.api_version, resource.kind):
            return decoder(resource.type).decode(body)
    except UNREADABLE as error:
        raise Garbled(f"{what}: the answer is not a {resource.kind}: {why(error)}") from error
    raise Garbled(
        f"{what}: the answer is not a {resource.kind} of {resource.api_version} "
        f"but {_named(found.kind)} of {_named(found.api_version)}"
    )


def decoded_json(body: bytes, what: object) -> Json:
    """Return plain JSON; raise ``Garbled`` if ``body`` is not."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE as error:
        raise Garbled(f"{what}: the answer is not JSON: {why(error)}") from error


def decoded_page(resource: Resource[T], body: bytes, what: object) -> Page[T]:
    """Return one page of a list; raise ``Garbled`` if ``body`` is not such a list."""
    shape = cast(
        "type[ListOf[T]]",
        ListOf[resource.type],  # type: ignore[name-defined]  # known at run time only
    )
    bad: tuple[Bad, ...] = ()
    try:
        found = decoder(shape).decode(body)
        items, metadata, kind = found.items, found.metadata, found.kind
        if items and isinstance(items[0], dict):
            items = tuple(map(marked, items))
        version = found.api_version
    except UNREADABLE:
        try:
            raw = decoder(ListOf[msgspec.Raw]).decode(body)
            items, bad = _one_by_one(resource, raw.items)
        except UNREADABLE as error:
            raise Garbled(f"{what}: the answer is no usable list: {why(error)}") from error
        metadata, kind, version = raw.metadata, raw.kind, raw.api_version
    if kind != resource.list_kind or version != resource.api_version:
        raise Garbled(
            f"{what}: the answer is not a {resource.list_kind} of {resource.api_version} "
            f"but {_named(kind)} of {_named(version)}"
        )
    if not metadata.resource_version:
        raise Garbled(f"{what}: the list has no resource version")
    return Page(items, bad, metadata.resource_version, metadata.continue_)


def joined(pages: Sequence[Page[T]]) -> Page[T]:
    """Return the list that ``pages``, all of one moment, make up."""
    return Page(
        tuple(obj for page in pages for obj in page.objects),
        tuple(bad for page in pages for bad in page.bad),
        pages[0].resource_version,
    )


def _one_by_one(
    resource: Resource[T], raws: tuple[msgspec.Raw, ...]
) -> tuple[tuple[T, ...], tuple[Bad, ...]]:
    """Sort the readable from the unreadable; an object without even a name spoils the list."""
    good: list[T] = []
    bad: list[Bad] = []
    for raw in raws:
        try:
            good.append(marked(decoder(resource.type).decode(raw)))
        except UNREADABLE as error:
            bad.append(Bad(decoder(Mark).decode(raw).metadata.key, why(error)))
    return tuple(good), tuple(bad)


def _named(text: str) -> str:
    return repr(text[:63]) if text else "nothing"
