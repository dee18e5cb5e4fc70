"""What we ask of an API server, as values: pure functions from objects to requests."""

from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace as altered

from isthmus.kube.codec import encoded, key_of
from isthmus.kube.resources import SERVICE_ACCOUNTS, TOKEN_REQUESTS, Resource
from isthmus.kube.transport import Request
from isthmus.model.objects import Key
from isthmus.model.reviews import TokenRequest
from isthmus.model.wire import Json, JsonObject

T = TypeVar("T")
Query = tuple[tuple[str, str], ...]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML, too


class Call(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A request that knows what it is about, for messages, counters and decoding."""

    verb: str
    resource: Resource[T]
    where: str  # the key or namespace, for people
    request: Request

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.plural} {self.where}".rstrip()


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a kind; all of them unless something is said."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def query(self) -> Query:
        return _given(labelSelector=self.labels, fieldSelector=self.fields)


EVERYTHING = Selection()


class Preconditions(msgspec.Struct, frozen=True, kw_only=True):
    """What must still be true of an object for its deletion to happen."""

    uid: str = ""
    resource_version: str = ""


def get(resource: Resource[T], key: Key) -> Call[T]:
    return _call("get", resource, str(key), Request(method="GET", path=resource.path(key)))


def list_page(
    resource: Resource[T], selection: Selection = EVERYTHING, *, limit: int = 0, token: str = ""
) -> Call[T]:
    """Ask for a page; without a resource version, so that the answer is never a stale one."""
    query = selection.query + _given(**{"limit": str(limit or ""), "continue": token})
    path = resource.collection(selection.namespace)
    request = Request(method="GET", path=path, query=query)
    return _call("list", resource, selection.namespace, request)


def watch(
    resource: Resource[T], selection: Selection, resource_version: str, seconds: int
) -> Call[T]:
    """Ask for what happens after ``resource_version``, for about so many seconds."""
    return _watch(resource, selection, seconds, (("resourceVersion", resource_version),))


def watch_list(resource: Resource[T], selection: Selection, seconds: int) -> Call[T]:
    """Ask for everything as events, then a bookmark that says so, then for what happens next."""
    query = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
    return _watch(resource, selection, seconds, query)


def create(resource: Resource[T], obj: T, *, manager: str) -> Call[T]:
    key = key_of(obj)
    path = resource.collection(key.namespace)
    body = encoded(resource, obj)
    return _call(
        "create", resource, str(key), _with_body("POST", path, _given(fieldManager=manager), body)
    )


def replace(resource: Resource[T], obj: T, *, manager: str, subresource: str = "") -> Call[T]:
    """Write the whole object; its resource version, if it has one, is the precondition."""
    key = key_of(obj)
    path = resource.path(key, subresource)
    body = encoded(resource, obj)
    return _call(
        "update", resource, str(key), _with_body("PUT", path, _given(fieldManager=manager), body)
    )


def apply(
    resource: Resource[T], obj: T, *, manager: str, force: bool = False, subresource: str = ""
) -> Call[T]:
    """Server-side apply: the fields of ``obj`` are ours, those we no longer name go."""
    key = key_of(obj)
    query = _given(fieldManager=manager, force="true" if force else "")
    request = _with_body(
        "PATCH", resource.path(key, subresource), query, encoded(resource, obj), APPLY_PATCH
    )
    return _call("apply", resource, str(key), request)


def rehearsed(call: Call[T]) -> Call[T]:
    """The same, judged and answered by the server as if it were meant, and not stored."""
    query = (*call.request.query, ("dryRun", "All"))
    return altered(call, request=altered(call.request, query=query))


def merge_patch(
    resource: Resource[T], key: Key, patch: JsonObject, *, manager: str, subresource: str = ""
) -> Call[T]:
    body = msgspec.json.encode(patch)
    path = resource.path(key, subresource)
    request = _with_body("PATCH", path, _given(fieldManager=manager), body, MERGE_PATCH)
    return _call("patch", resource, str(key), request)


def delete(
    resource: Resource[T],
    key: Key,
    preconditions: Preconditions | None = None,
    propagation: str = "Background",
    grace: int | None = None,
) -> Call[T]:
    options: dict[str, Json] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": propagation,
    }
    if preconditions is not None:
        wanted = _given(uid=preconditions.uid, resourceVersion=preconditions.resource_version)
        options["preconditions"] = dict(wanted)
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    request = _with_body("DELETE", resource.path(key), (), msgspec.json.encode(options))
    return _call("delete", resource, str(key), request)


def review(resource: Resource[T], obj: T, namespace: str = "") -> Call[T]:
    """Ask a question that is an object without a name."""
    path = resource.collection(namespace)
    return _call(
        "create", resource, namespace, _with_body("POST", path, (), encoded(resource, obj))
    )


def request_token(account: Key, wanted: TokenRequest) -> Call[TokenRequest]:
    path = SERVICE_ACCOUNTS.path(account, "token")
    request = _with_body("POST", path, (), encoded(TOKEN_REQUESTS, wanted))
    return _call("create", TOKEN_REQUESTS, f"{account} token", request)


def _watch(resource: Resource[T], selection: Selection, seconds: int, start: Query) -> Call[T]:
    query = (
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("timeoutSeconds", str(seconds)),
        *start,
        *selection.query,
    )
    path = resource.collection(selection.namespace)
    request = Request(method="GET", path=path, query=query)
    return _call("watch", resource, selection.namespace, request)


def _call(verb: str, resource: Resource[T], where: str, request: Request) -> Call[T]:
    return Call(verb=verb, resource=resource, where=where, request=request)


def _with_body(
    method: str, path: str, query: Query, body: bytes, content_type: str = JSON
) -> Request:
    headers = {"Content-Type": content_type}
    return Request(method=method, path=path, query=query, headers=headers, body=body)


def _given(**parameters: str) -> Query:
    return tuple((name, value) for name, value in parameters.items() if value)
