"""Brings objects into a cluster, and says what became of each: created, configured, unchanged.

Server-side apply does it, so that what others have set stays theirs: a field that two want to be
different is a conflict, and is never overwritten in silence. Every write is rehearsed first. Thus
many can be tried before the first is made, and one that would change nothing is not made at all.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from isthmus.kube.client import Client
from isthmus.kube.codec import key_of
from isthmus.kube.errors import Conflict, NotFound
from isthmus.kube.resources import Resource
from isthmus.model.errors import Permanent
from isthmus.model.wire import JsonObject

Outcome: TypeAlias = Literal["created", "configured", "unchanged"]

_BOOKKEEPING = frozenset({"managedFields", "resourceVersion"})


class Contested(Permanent):
    """Somebody else has set a field to something else. Names the field, and who it is."""


@dataclass(frozen=True, slots=True)
class Change:
    """One object as it is (None if there is none) and as applying ``wanted`` makes it.

    It may be a Secret, so none of it is shown.
    """

    resource: Resource[JsonObject]
    wanted: JsonObject = field(repr=False)
    before: JsonObject | None = field(repr=False)
    after: JsonObject = field(repr=False)
    force: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.before is None:
            return "created"
        return "unchanged" if _content(self.before) == _content(self.after) else "configured"

    def __str__(self) -> str:
        return shown(self.resource, self.wanted["metadata"]["name"])


def shown(resource: Resource[JsonObject], name: str) -> str:
    """Name an object as kubectl does: ``link.isthmus.dev/west``."""
    group = f".{resource.group}" if resource.group else ""
    return f"{resource.kind.lower()}{group}/{name}"


async def rehearsed(
    client: Client, resource: Resource[JsonObject], wanted: JsonObject, *, force: bool = False
) -> Change:
    """Let the server say what applying ``wanted`` would change; nothing is written.

    With ``force``, fields that others have set differently are taken over.
    """
    try:
        after = await client.rehearse(resource, wanted, force=force)
    except Conflict as error:
        raise _contested(resource, wanted, error) from error
    try:
        before = await client.get(resource, key_of(wanted))
    except NotFound:
        before = None
    return Change(resource, wanted, before, after, force)


async def carried_out(client: Client, change: Change) -> Change:
    """Write what was rehearsed, if that changes anything; return it as it really became."""
    if change.outcome == "unchanged":
        return change
    resource, wanted = change.resource, change.wanted
    try:
        after = await client.apply(resource, wanted, force=change.force)
    except Conflict as error:
        raise _contested(resource, wanted, error) from error
    return Change(resource, wanted, change.before, after, change.force)


async def applied(
    client: Client, resource: Resource[JsonObject], wanted: JsonObject, *, force: bool = False
) -> Change:
    """Rehearse one object and write it."""
    return await carried_out(client, await rehearsed(client, resource, wanted, force=force))


def _content(obj: JsonObject) -> JsonObject:
    """Return an object without what changes although nothing has changed."""
    kept = {key: each for key, each in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": kept}


def _contested(resource: Resource[JsonObject], wanted: JsonObject, error: Conflict) -> Contested:
    name = shown(resource, wanted["metadata"]["name"])
    return Contested(f"{name}: {error}; change it there, or take it over with --force-conflicts")
