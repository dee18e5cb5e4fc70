"""The server under test, as the contract's tests speak to it: short calls, plain JSON."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.wire import Json, JsonObject

APPS = "/apis/apps/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# Where each resource lives, and whether its objects live in namespaces.
RESOURCES: dict[str, tuple[str, bool]] = {
    "namespaces": ("/api/v1", False),
    "nodes": ("/api/v1", False),
    "configmaps": ("/api/v1", True),
    "endpoints": ("/api/v1", True),
    "events": ("/api/v1", True),
    "pods": ("/api/v1", True),
    "secrets": ("/api/v1", True),
    "serviceaccounts": ("/api/v1", True),
    "services": ("/api/v1", True),
    "daemonsets": (APPS, True),
    "deployments": (APPS, True),
    "replicasets": (APPS, True),
    "statefulsets": (APPS, True),
    "endpointslices": ("/apis/discovery.k8s.io/v1", True),
    "leases": ("/apis/coordination.k8s.io/v1", True),
    "roles": (RBAC, True),
    "rolebindings": (RBAC, True),
    "clusterroles": (RBAC, False),
    "clusterrolebindings": (RBAC, False),
    "gadgets": ("/apis/contract.example.org/v1", True),  # made by tests.contract.gadgets
    "customresourcedefinitions": ("/apis/apiextensions.k8s.io/v1", False),
    "tokenreviews": ("/apis/authentication.k8s.io/v1", False),
    "selfsubjectreviews": ("/apis/authentication.k8s.io/v1", False),
    "selfsubjectaccessreviews": ("/apis/authorization.k8s.io/v1", False),
    "subjectaccessreviews": ("/apis/authorization.k8s.io/v1", False),
}

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer."""

    code: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        return json.loads(self.raw)

    @property
    def ok(self) -> JsonObject:
        """The object of a request that must have succeeded."""
        assert 200 <= self.code < 300, f"{self.code}: {self.raw.decode(errors='replace')}"
        body: JsonObject = self.body
        return body

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Code, reason and message of a refusal; the code stands in its body, too."""
        body = self.body
        assert body["kind"] == "Status", body
        assert body["apiVersion"] == "v1"
        assert body["status"] == "Failure", body
        assert body["code"] == self.code
        return self.code, body.get("reason", ""), body["message"]

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """Reason, field and message of each cause that a refusal names."""
        causes = self.body.get("details", {}).get("causes", [])
        return [(c.get("reason", ""), c.get("field", ""), c.get("message", "")) for c in causes]

    @property
    def version(self) -> str:
        return str(self.ok["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        """The names of a list's objects, in the order in which they came."""
        return [item["metadata"]["name"] for item in self.ok["items"]]


@dataclass(slots=True)
class Events:
    """An open watch."""

    response: Response
    _buffer: bytearray = field(default_factory=bytearray)
    _chunks: AsyncIterator[bytes] | None = None

    async def next(self, *, within: float = 15) -> JsonObject:
        """The next event; an ended stream is an error."""
        async with asyncio.timeout(within):
            event = await self._line()
        assert event is not None, "the watch ended"
        return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next ``count`` events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    async def rest(self, *, within: float = 15) -> list[JsonObject]:
        """Everything until the server ends the stream."""
        events: list[JsonObject] = []
        async with asyncio.timeout(within):
            while (event := await self._line()) is not None:
                events.append(event)
        return events

    async def _line(self) -> JsonObject | None:
        if self._chunks is None:
            self._chunks = self.response.chunks()
        while (end := self._buffer.find(b"\n")) < 0:
            try:
                self._buffer += await anext(self._chunks)
            except StopAsyncIteration:
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        event: JsonObject = json.loads(line)
        return event


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An API server, and a namespace in it that belongs to one test alone."""

    # A transport for a bearer token: None is the administrator, "" is nobody.
    transport: Callable[[str | None], Transport]
    shaky: Callable[[str | None], Transport]  # likewise, over connections that can be broken:
    cut_connections: Callable[[], None]  # those that are open now; new ones work
    silence: Callable[[], None]  # the open ones stay open, but nothing comes through any more
    silence_limit: float  # seconds of silence that a test here can afford to wait for
    namespace: str
    compact: Callable[[], Awaitable[None]]  # forget all history
    restart: Callable[[], Awaitable[None]]  # away for a moment; connections break, data stays
    token: str | None = None

    def acting_as(self, token: str) -> "Server":
        """The same server and namespace, seen by the holder of ``token``."""
        return dataclasses.replace(self, token=token)

    def unique(self, name: str) -> str:
        """A name for an object outside namespaces, which tests share."""
        return f"{name}-{self.namespace}"

    def path(self, where: str, namespace: str | None = None) -> str:
        """``services/web`` as a path of the API; what starts with a slash is one already."""
        if where.startswith("/"):
            return where
        plural = where.partition("/")[0]
        root, namespaced = RESOURCES[plural]
        middle = f"/namespaces/{namespace or self.namespace}" if namespaced else ""
        return f"{root}{middle}/{where}"

    async def send(self, request: Request) -> Reply:
        transport = self.transport(self.token)
        async with asyncio.timeout(30), transport.send(request) as response:
            raw = b"".join([chunk async for chunk in response.chunks()])
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, headers, raw)

    async def call(
        self, method: str, where: str, body: Json = None, *, kind: str = JSON, **query: Json
    ) -> Reply:
        """Send one request; ``kind`` is the content type of its body."""
        headers = {"Accept": JSON}
        if body is not None:
            headers["Content-Type"] = kind
        return await self.send(
            Request(
                method=method,
                path=self.path(where),
                query=_query(query),
                headers=headers,
                body=b"" if body is None else json.dumps(body).encode(),
            )
        )

    async def get(self, where: str, **query: Json) -> Reply:
        return await self.call("GET", where, **query)

    async def create(self, where: str, obj: JsonObject, **query: Json) -> Reply:
        return await self.call("POST", where, obj, **query)

    async def replace(self, where: str, obj: JsonObject, **query: Json) -> Reply:
        return await self.call("PUT", where, obj, **query)

    async def delete(self, where: str, options: JsonObject | None = None) -> Reply:
        return await self.call("DELETE", where, options)

    async def merge(self, where: str, patch: JsonObject, **query: Json) -> Reply:
        return await self.call("PATCH", where, patch, kind=MERGE_PATCH, **query)

    async def apply(self, where: str, obj: JsonObject, **query: Json) -> Reply:
        """Server-side apply, by the field manager ``contract`` unless told otherwise."""
        query = {"fieldManager": "contract", **query}
        return await self.call("PATCH", where, obj, kind=APPLY_PATCH, **query)

    @asynccontextmanager
    async def watch(self, where: str, **query: Json) -> AsyncIterator[Events]:
        request = Request(
            method="GET",
            path=self.path(where),
            query=_query({"watch": "true", "timeoutSeconds": 60, **query}),
            headers={"Accept": JSON},
        )
        async with self.transport(self.token).send(request) as response:
            assert response.status == 200, response.status
            yield Events(response)


def _query(parameters: dict[str, object]) -> tuple[tuple[str, str], ...]:
    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return tuple((name, text(value)) for name, value in parameters.items())
