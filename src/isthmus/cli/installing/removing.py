"""Removes what an installation has made, and nothing else: what carries its label."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from isthmus.cli.applying import shown
from isthmus.kube.client import Client
from isthmus.kube.codec import key_of
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Preconditions
from isthmus.model.wire import JsonObject


async def present(client: Client, candidates: Sequence[JsonObject]) -> AsyncIterator[JsonObject]:
    """Yield those of ``candidates`` that exist, as they are, and do not end already."""
    for one in candidates:
        with suppress(NotFound):
            found = await client.get(KINDS[one["kind"]], key_of(one))
            if "deletionTimestamp" not in found["metadata"]:
                yield {**found, "apiVersion": one["apiVersion"], "kind": one["kind"]}


async def remove(client: Client, found: JsonObject) -> None:
    """Delete exactly what was found: not what somebody has made by that name since."""
    unchanged = Preconditions(uid=found["metadata"]["uid"])
    with suppress(NotFound):  # as wanted
        await client.delete(KINDS[found["kind"]], key_of(found), unchanged)


def named(obj: JsonObject) -> str:
    return shown(KINDS[obj["kind"]], obj["metadata"]["name"])
