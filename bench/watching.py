"""A bare watch: what happens to Services, the moment it is shown."""

from collections.abc import AsyncIterator, Callable, Mapping

import aiohttp
import msgspec

from bench.target import SERVICES
from bench.trial import Failed

ADDED = "ADDED"
ERROR = "ERROR"
FOREVER = aiohttp.ClientTimeout(None)


class Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class Object(msgspec.Struct, frozen=True):
    metadata: Metadata


class Event(msgspec.Struct, frozen=True):
    type: str
    object: Object


class _Listed(msgspec.Struct, frozen=True):
    metadata: Metadata
    items: tuple[Object, ...]


async def watch(
    opened: aiohttp.ClientSession, labels: str, begun: Callable[[], None] = lambda: None
) -> AsyncIterator[Event]:
    """Yield all Services with these labels, as if they were added, then what changes, for ever.

    A server ends the watch of whoever it could not write to in time, which happens to anybody
    where all cores are in use; it goes on where it ended.
    """
    async with opened.get(SERVICES, params={"labelSelector": labels}) as answer:
        answer.raise_for_status()
        listed = msgspec.json.decode(await answer.read(), type=_Listed)
    for found in listed.items:
        yield Event(ADDED, found)
    seen = listed.metadata.resource_version
    decoder = msgspec.json.Decoder(Event)
    while True:
        query = {"watch": "1", "labelSelector": labels, "resourceVersion": seen}
        rest = b""
        async with opened.get(SERVICES, params=query, timeout=FOREVER) as answer:
            answer.raise_for_status()
            begun()
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for event in map(decoder.decode, lines):
                    if event.type == ERROR:
                        raise Failed("the watch cannot go on where it ended")
                    seen = event.object.metadata.resource_version
                    yield event
