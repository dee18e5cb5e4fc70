"""Talk to an embedded cluster in few words."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from isthmus.embedded.cluster import Cluster
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.wire import Json, JsonObject

NAMESPACED = "/api/v1/namespaces/default"
SERVICES = f"{NAMESPACED}/services"
CONFIG_MAPS = f"{NAMESPACED}/configmaps"
MERGE = "application/merge-patch+json"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def cluster(service_range: str = "10.96.0.0/16") -> Cluster:
    """A cluster in which everything is the same every time."""
    return Cluster("west", service_range=service_range, wall=lambda: NOW, random=Random(1))


def config(name: str, **metadata: Json) -> JsonObject:
    return {"metadata": {"name": name, **metadata}}


def service(name: str, **spec: Json) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    raw: bytes

    @property
    def body(self) -> Json:
        return json.loads(self.raw)

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


@dataclass(frozen=True, slots=True)
class Talk:
    """Requests by one client."""

    transport: Transport

    async def get(self, path: str, **query: str) -> Answered:
        return await self.ask("GET", path, None, **query)

    async def create(self, path: str, body: JsonObject) -> JsonObject:
        answered = await self.ask("POST", path, body)
        assert answered.status == 201, answered.raw
        created: JsonObject = answered.body
        return created

    async def merge(self, path: str, body: JsonObject) -> Answered:
        return await self._send("PATCH", path, body, MERGE, {})

    async def delete(self, path: str, **options: Json) -> Answered:
        return await self.ask("DELETE", path, options or None)

    async def ask(
        self, method: str, path: str, body: JsonObject | None = None, **query: str
    ) -> Answered:
        return await self._send(method, path, body, "application/json", query)

    async def _send(
        self, method: str, path: str, body: JsonObject | None, kind: str, query: dict[str, str]
    ) -> Answered:
        request = Request(
            method=method,
            path=path,
            query=tuple(query.items()),
            headers={"content-type": kind},
            body=b"" if body is None else json.dumps(body).encode(),
        )
        async with self.transport.send(request) as response:
            return Answered(response.status, b"".join([c async for c in response.chunks()]))

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator["Events"]:
        asked = Request(method="GET", path=path, query=(("watch", "true"), *query.items()))
        async with self.transport.send(asked) as response:
            yield Events(response, response.chunks())


@dataclass(frozen=True, slots=True)
class Events:
    """A watch, one event per chunk."""

    response: Response
    chunks: AsyncIterator[bytes]

    async def next(self) -> tuple[str, str]:
        """Type and name of the next event."""
        event = json.loads(await anext(self.chunks))
        return event["type"], event["object"]["metadata"].get("name", "")

    async def rest(self) -> list[Json]:
        return [json.loads(chunk) async for chunk in self.chunks]


def talk(west: Cluster) -> Talk:
    return Talk(west.transport())
