"""What the API answers: bytes put together from the bodies that the store keeps encoded."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.state.store import Record
from isthmus.embedded.status import Refusal
from isthmus.embedded.tables import table
from isthmus.model.wire import Json, JsonObject

_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A body, or a stream of chunks that follow as they happen. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    stream: AsyncGenerator[bytes, None] | None = None  # whoever gets it closes it

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """The whole body, bit by bit."""
        try:
            if self.body:
                yield self.body
            if self.stream is not None:
                async for chunk in self.stream:
                    yield chunk
        finally:
            await self.close()

    async def close(self) -> None:
        """Give up the stream, if there is one."""
        if self.stream is not None:
            await self.stream.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How objects of a kind are shown: as they are, as table rows, or their metadata only."""

    kind: Kind
    custom: bool = False
    table: bool = False
    partial: bool = False
    include: str = "Metadata"  # of table rows
    now: datetime

    def encoded(self, record: Record) -> bytes:
        """One object."""
        if not self.table and not self.partial and self.kind.view is None:
            return _head(self.kind.name, self.kind.api_version) + record.body[1:]
        return msgspec.json.encode(self.shown(record.object))

    def shown(self, obj: JsonObject) -> JsonObject:
        """One object that need not be stored."""
        if self.table:
            metadata = obj["metadata"]
            return table.table(self.kind, [obj], metadata, now=self.now, include=self.include)
        if self.partial:
            return {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
        return self.kind.seen(obj)

    def listed(self, records: Iterable[Record], metadata: JsonObject) -> bytes:
        """A list. Items of built-in kinds do not repeat what the list's kind says already."""
        if self.table:
            objects = (record.object for record in records)
            return msgspec.json.encode(
                table.table(self.kind, objects, metadata, now=self.now, include=self.include)
            )
        name, version = self.kind.list_name, self.kind.api_version
        if self.partial:
            name, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
            items = [self.encoded(record) for record in records]
        elif self.custom:
            items = [self.encoded(record) for record in records]
        elif self.kind.view:
            items = [_bare(self.shown(record.object)) for record in records]
        else:
            items = [record.body for record in records]
        head = _head(name, version) + b'"metadata":' + msgspec.json.encode(metadata)
        return b"".join((head, b',"items":[', b",".join(items), b"]}"))


def _bare(obj: JsonObject) -> bytes:
    return msgspec.json.encode({k: v for k, v in obj.items() if k not in ("kind", "apiVersion")})


def _head(name: str, version: str) -> bytes:
    return f'{{"kind":"{name}","apiVersion":"{version}",'.encode()


def answered(status: int, document: Json | bytes, headers: Mapping[str, str] = {}) -> Answer:
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    return Answer(status=status, headers={**_JSON, **headers}, body=body)


def refused(refusal: Refusal) -> Answer:
    headers = dict(refusal.headers)
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    return answered(refusal.code, refusal.status(), headers)


def success(kind: Kind, name: str, uid: str) -> JsonObject:
    """The Status of a deletion that is done."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
