"""Watch: the history of a collection as a stream, from some version on."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

import msgspec

from isthmus.embedded.api import listing, selectors
from isthmus.embedded.api.answers import Form
from isthmus.embedded.api.calls import Call
from isthmus.embedded.api.selectors import Predicate
from isthmus.embedded.kinds import causes
from isthmus.embedded.kinds.refusals import expired, invalid
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Compacted, Event, Record, Subscription
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.wire import JsonObject

BOOKMARK_EVERY = 60.0  # seconds
LAST_BOOKMARK = 2.0  # seconds before the end
_SHORTEST, _LONGEST = 1800.0, 3600.0  # of a watch that sets no timeout
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What one watch shows, and until when."""

    resource: str
    namespace: str
    form: Form
    chosen: Predicate | None
    initial: tuple[Record, ...]  # shown as ADDED before anything else
    position: int  # events up to this revision are not shown
    end_marked: bool  # a bookmark says where the initial objects end
    bookmarks: bool
    until: int | None  # a stale server has not heard of anything later
    seconds: float

    def shows(self, record: Record | None) -> bool:
        return record is not None and (self.chosen is None or self.chosen(record.object))


def watch(plane: Plane, call: Call, form: Form) -> Watch:
    """Check the options and fix where the stream starts."""
    _check(call)
    newest = listing.head(plane, call)
    wanted = listing.version(call, newest)
    route = call.route
    chosen = selectors.selection(call.kind, call.query.get("labelSelector", ""), _fields(call))
    sends = call.query.get("sendInitialEvents")
    replays = call.flag("sendInitialEvents") if sends else not wanted
    if sends and wanted and wanted > newest:
        raise listing.too_large(wanted, newest)
    initial: tuple[Record, ...] = ()
    if replays:
        try:
            found = plane.store.scan(route.resource, route.namespace, at=newest)
        except Compacted:  # a stale server that has fallen behind what history there is
            raise expired(_too_old(newest, plane.store.compacted)) from None
        initial = tuple(r for r in found if chosen is None or chosen(r.object))
    return Watch(
        resource=route.resource,
        namespace=route.namespace,
        form=form,
        chosen=chosen,
        initial=initial,
        position=newest if replays or not wanted else wanted,
        end_marked=bool(sends) and replays and call.flag("allowWatchBookmarks"),
        bookmarks=call.flag("allowWatchBookmarks"),
        until=call.as_of,
        seconds=call.number("timeoutSeconds") or plane.random.uniform(_SHORTEST, _LONGEST),
    )


def _fields(call: Call) -> str:
    """A watch of one object is a watch of the collection with a selector."""
    fields = call.query.get("fieldSelector", "")
    if not call.route.name:
        return fields
    return ",".join(filter(None, (fields, f"metadata.name={call.route.name}")))


def _check(call: Call) -> None:
    match = call.query.get("resourceVersionMatch", "")
    sends = call.query.get("sendInitialEvents")
    wrong: list[Cause] = []
    field = "resourceVersionMatch"
    if sends and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        wrong.append(causes.forbidden(field, text))
    if match:
        if not sends:
            text = (
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            wrong.append(causes.forbidden(field, text))
        if match != "NotOlderThan":
            wrong.append(causes.unsupported(field, match, ("NotOlderThan",)))
        if call.query.get("continue"):
            text = "resourceVersionMatch is forbidden when continue is provided"
            wrong.append(causes.forbidden(field, text))
    if wrong:
        raise invalid("meta.k8s.io", "ListOptions", "", tuple(wrong))


async def stream(plane: Plane, watched: Watch) -> AsyncGenerator[bytes, None]:
    """The events, one line each, until time is up or the watcher has to go."""
    store, clock = plane.store, asyncio.get_running_loop().time
    end = clock() + watched.seconds
    with store.subscribed(watched.resource, watched.position) as subscription:
        if watched.position < store.compacted and not watched.initial:
            yield _error(expired(_too_old(watched.position, store.compacted)))
            return
        for record in watched.initial:
            yield _line("ADDED", watched.form.encoded(record))
        if watched.end_marked:
            yield _bookmark(watched, watched.position, _INITIAL_END)
        bookmark_at = _next_bookmark(clock(), end) if watched.bookmarks else end
        while clock() < end and not subscription.closed:
            try:
                missed = store.missed(watched.resource, subscription)
            except Compacted:
                return  # Too slow. The real server cuts such a watcher off, too.
            for event in missed:
                subscription.position = event.revision
                if watched.until is not None and event.revision > watched.until:
                    continue
                for line in _lines(watched, event):
                    yield line
            if missed:
                continue  # what came while these were told comes before any bookmark
            if watched.bookmarks and clock() >= bookmark_at:
                bookmark_at = _next_bookmark(clock(), end)
                reached = _reached(plane, watched, subscription)
                if reached > watched.position:  # to be told where it began helps no watcher
                    yield _bookmark(watched, reached)
            await _wait(subscription, min(end, bookmark_at))


def _next_bookmark(now: float, end: float) -> float:
    """Every minute, and last shortly before the end, so that little is repeated afterwards."""
    last = end - LAST_BOOKMARK
    return min(now + BOOKMARK_EVERY, last if now < last else end)


def _reached(plane: Plane, watched: Watch, subscription: Subscription) -> int:
    """A bookmark moves the watcher on to the present, past what others have written."""
    subscription.position = max(subscription.position, plane.store.revision)
    if watched.until is None:
        return subscription.position
    return min(subscription.position, watched.until)


async def _wait(subscription: Subscription, until: float) -> None:
    try:
        async with asyncio.timeout_at(until):
            await subscription.changed()
    except TimeoutError:
        return


def _lines(watched: Watch, event: Event) -> Iterator[bytes]:
    """An object that starts or stops to match the selector comes or goes for this watcher."""
    if watched.namespace and event.key.namespace != watched.namespace:
        return
    before, after = watched.shows(event.before), watched.shows(event.after)
    if after:
        yield _line("MODIFIED" if before else "ADDED", watched.form.encoded(event.shown))
    elif before:
        yield _line("DELETED", _last(watched.form, event))


def _last(form: Form, event: Event) -> bytes:
    """The last state that matched, with the version of the change that ended it."""
    if event.after is None or event.before is None:
        return form.encoded(event.shown)
    metadata = {**event.before.object["metadata"], "resourceVersion": str(event.revision)}
    return msgspec.json.encode(form.shown({**event.before.object, "metadata": metadata}))


def _line(name: str, body: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (name.encode(), body)


def _bookmark(watched: Watch, revision: int, annotations: JsonObject | None = None) -> bytes:
    metadata: JsonObject = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    kind = watched.form.kind
    shown = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
    return _line("BOOKMARK", msgspec.json.encode(shown))


def _error(refusal: Refusal) -> bytes:
    return _line("ERROR", msgspec.json.encode(refusal.status()))


def _too_old(wanted: int, oldest: int) -> str:
    return f"too old resource version: {wanted} ({oldest})"
