"""What can go wrong with a request, one function each, to be added to a cluster's ``Faults``."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace

import msgspec

from isthmus.embedded.api.answers import Answer, refused
from isthmus.embedded.api.calls import JSON
from isthmus.embedded.faults.rules import Effect, Faults, Serve
from isthmus.embedded.status import Refusal
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>\n"


def delayed(seconds: float) -> Effect:
    """The request takes its time on the way."""

    async def effect(request: Request, serve: Serve) -> Answer:
        await asyncio.sleep(seconds)
        return await serve(request)

    return effect


def lost_answer() -> Effect:
    """The request is carried out, but the connection breaks before the answer."""

    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        await answer.close()
        raise Unreachable("connection reset")

    return effect


def hanging(faults: Faults) -> Effect:
    """The request never gets an answer, unless the connection breaks."""

    async def effect(_request: Request, _serve: Serve) -> Answer:
        await faults.broken()
        raise Unreachable("connection reset")

    return effect


def failing(code: int, retry_after: int | None = None, message: str = "injected") -> Effect:
    """The request is refused, by a Status like those of the API."""

    async def effect(_request: Request, _serve: Serve) -> Answer:
        return refused(Refusal(code, _REASONS[code], message, retry_after=retry_after))

    return effect


def answering(body: bytes = _PAGE, status: int = 200, content_type: str = "text/html") -> Effect:
    """Something else answers: a proxy, a captive portal."""

    async def effect(_request: Request, _serve: Serve) -> Answer:
        return Answer(status=status, headers={"content-type": content_type}, body=body)

    return effect


def listing(change: Callable[[JsonObject], None]) -> Effect:
    """A list comes with something wrong in it, such as half of its items."""

    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        if answer.stream is not None or answer.headers.get("content-type") != JSON:
            return answer
        found = msgspec.json.decode(answer.body)
        if not isinstance(found.get("items"), list):
            return answer  # an object, a refusal, or a list that another effect has spoilt
        change(found)
        return replace(answer, body=msgspec.json.encode(found))

    return effect


def empty_list() -> Effect:
    """Everything is missing in a list, which does not say that there is more."""

    def change(found: JsonObject) -> None:
        found["items"] = []
        for name in ("continue", "remainingItemCount"):
            found["metadata"].pop(name, None)

    return listing(change)


def null_items() -> Effect:
    return listing(lambda found: found.update(items=None))


def partial_list(count: int) -> Effect:
    return listing(lambda found: found.update(items=found["items"][:count]))


def stale(revision: int) -> Effect:
    """A server answers that has not heard of anything after ``revision``."""

    async def effect(request: Request, serve: Serve) -> Answer:
        return await serve(request, revision)

    return effect


def cut(after: int) -> Effect:
    """The connection breaks after so many bytes of the body, be it within a word."""

    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        return replace(answer, body=b"", stream=_cut(answer.parts(), after))

    return effect


async def _cut(parts: AsyncGenerator[bytes, None], left: int) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        async for part in parts:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                raise Unreachable("connection reset")


def silent(faults: Faults, after: int = 0) -> Effect:
    """A watch shows so many events and then nothing more, without ending: a half-open line."""

    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        if answer.stream is None:
            return answer
        return replace(answer, stream=_silent(faults, answer.stream, after))

    return effect


async def _silent(
    faults: Faults, stream: AsyncGenerator[bytes, None], after: int
) -> AsyncGenerator[bytes, None]:
    async with aclosing(stream):
        while after > 0:
            after -= 1
            try:
                line = await anext(stream)
            except StopAsyncIteration:
                return
            yield line
    await faults.broken()


def events(change: Callable[[list[bytes]], Iterable[bytes]], batch: int = 1) -> Effect:
    """A watch's events are changed: dropped, doubled, or put in another order.

    ``change`` gets ``batch`` lines at a time and returns those that are sent instead. What is
    left when the watch ends comes in a smaller batch.
    """

    async def effect(request: Request, serve: Serve) -> Answer:
        answer = await serve(request)
        if answer.stream is None:
            return answer
        return replace(answer, stream=_changed(answer.stream, change, batch))

    return effect


async def _changed(
    stream: AsyncGenerator[bytes, None],
    change: Callable[[list[bytes]], Iterable[bytes]],
    batch: int,
) -> AsyncGenerator[bytes, None]:
    held: list[bytes] = []
    async with aclosing(stream):
        async for line in stream:
            held.append(line)
            if len(held) == batch:
                for sent in change(held):
                    yield sent
                held = []
    for sent in change(held) if held else ():
        yield sent
