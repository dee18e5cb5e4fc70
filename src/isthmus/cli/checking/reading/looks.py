"""One look at something: a value, or why there was none. Nothing that fails hides the rest."""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable
from typing import TypeVar

import msgspec

from isthmus.cli.checking.evidence.sites import Seen, Unseen
from isthmus.install.parts import ADMIN
from isthmus.kube import pods
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import Resource
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE

T = TypeVar("T")

_LONGEST = 300


async def seen(reading: Awaitable[T]) -> Seen[T]:
    """Return what is read, or why it cannot be."""
    try:
        return await reading
    except IsthmusError as error:
        return Unseen(one_line(str(error), _LONGEST))


async def one(client: Client, resource: Resource[T], key: Key) -> Seen[T | None]:
    """Look for one object; None if it does not exist."""

    async def maybe() -> T | None:
        try:
            return await client.get(resource, key)
        except NotFound:
            return None

    return await seen(maybe())


async def every(
    client: Client, resource: Resource[T], selection: Selection = EVERYTHING
) -> Seen[tuple[T, ...]]:
    """Look at all objects of a kind."""

    async def objects() -> Seen[tuple[T, ...]]:
        try:
            return (await client.list(resource, selection)).objects
        except NotFound:  # an empty list is there; what is not, is the kind
            name = f"{resource.plural}.{resource.group}"
            return Unseen(f"{name} is not defined here", "isthmus install --apply brings it")

    return await seen(objects())


async def page(client: Client, pod: Key, path: str, shape: type[T]) -> Seen[T | None]:
    """Look at a page of a controller; None if it has no such page, or nothing to say on it."""

    async def text() -> str | None:
        try:
            return await pods.page(client, pod, ADMIN, path)
        except NotFound:
            return None

    found = await seen(text())
    if found is None or isinstance(found, Unseen):
        return found
    try:
        return msgspec.json.decode(found, type=shape)
    except UNREADABLE:
        return Unseen(f"pod {pod} says something at {path} that is no page of a controller")


async def all_of(looks: Iterable[Coroutine[None, None, T]]) -> tuple[T, ...]:
    """Look at many things at once. No look fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(look) for look in looks]
    return tuple(task.result() for task in tasks)


async def whole(parts: Iterable[Awaitable[T]]) -> Seen[tuple[T, ...]]:
    """Look at many things that mean nothing without each other: all of them, or why not."""
    found = await all_of(seen(part) for part in parts)
    good = tuple(one for one in found if not isinstance(one, Unseen))
    return good if len(good) == len(found) else next(o for o in found if isinstance(o, Unseen))
