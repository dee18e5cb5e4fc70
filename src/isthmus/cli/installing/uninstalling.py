"""What ``isthmus uninstall`` does, between its options and its lines."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace

import click

from isthmus.apps.controller.mirroring.namespaces import listable
from isthmus.cli import render
from isthmus.cli.installation import homes
from isthmus.cli.installing import rights
from isthmus.cli.installing.ending import Ending, Left
from isthmus.cli.installing.leaving import MADE, Farewell, Seen, decide
from isthmus.cli.installing.removing import named, present, remove
from isthmus.cli.progress import watched
from isthmus.cli.where import Where
from isthmus.install import possible
from isthmus.install.everything import bare
from isthmus.install.parts import ISTHMUS, PART_OF
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Selection
from isthmus.kube.resources import GRANTS, LINKS, PODS, Resource
from isthmus.model.errors import Transient
from isthmus.model.quoting import one_line
from isthmus.model.wire import Json, JsonObject
from isthmus.runtime.clock import SystemClock

RUNNING = "Deployment"
LONGEST = 1000  # characters of a sentence about what stays


class StillRunning(Transient):
    """Pods have not ended in time; what they need is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was typed."""

    namespace: str
    force: bool
    apply: bool
    timeout: float  # seconds; of pods, too: their callers may take their time to leave


def uninstall(where: Where, wish: Wish, output: str | None) -> None:
    """Print what would go, or remove it."""
    done: list[JsonObject] = []

    def say(found: JsonObject) -> None:
        done.append(found)
        if output is None and wish.apply:
            click.echo(f"{named(found)} deleted")

    try:
        farewell = asyncio.run(_leave(where, wish, say))
    except KeyboardInterrupt:
        click.echo(
            f"interrupted: {len(done)} objects were deleted; the same command goes on from here",
            err=True,
        )
        raise
    _report(farewell, wish, output)


def _report(farewell: Farewell, wish: Wish, output: str | None) -> None:
    if not farewell.goes:
        click.echo(f"nothing of Isthmus is installed in {wish.namespace}", err=True)
    elif not wish.apply:
        shown = [bare(one) for one in farewell.goes]
        click.echo(render.manifests(shown, output or "yaml"), nl=False)
    elif output is not None:
        gone = [bare(one) for one in farewell.goes]
        said = {"deleted": gone, "stays": list(farewell.stays)}
        click.echo(render.document(said, output), nl=False)
    for line in farewell.stays:
        # Roles and the like may be called anything, and the terminal is not theirs to write to.
        click.echo(one_line(line, LONGEST), err=True)


async def _leave(where: Where, wish: Wish, say: Callable[[JsonObject], None]) -> Farewell:
    async with where.connected() as client:
        farewell = decide(await _seen(client, wish.namespace), force=wish.force)
        if not wish.apply:
            return farewell
        ending = Ending(client, SystemClock(), watched(sys.stderr), wish.timeout)
        await rights.check(client, farewell.goes, ("delete",))
        running = tuple(one for one in farewell.goes if one["kind"] == RUNNING)
        await _remove(client, running, say)
        if running:
            # Else a controller would write again what has just been deleted.
            await _until_ended(ending, wish.namespace)
            # That takes its time, and others do not stand still: what has come meanwhile stays.
            farewell = decide(await _seen(client, wish.namespace), force=True)
        await _remove(client, farewell.goes, say)
        await ending.until_gone(wish.namespace)
    return replace(farewell, goes=(*running, *farewell.goes))


async def _remove(
    client: Client, found: Iterable[JsonObject], say: Callable[[JsonObject], None]
) -> None:
    for one in found:
        await remove(client, one)
        say(one)


async def _seen(client: Client, namespace: str) -> Seen:
    made = [
        {
            "apiVersion": KINDS[kind].api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
        }
        for kind, name in sorted(MADE)
    ]
    wanted = possible(namespace)
    objects = [one async for one in present(client, [*wanted, *made])]
    exists = any(one["kind"] == "Namespace" for one in objects)
    return Seen(
        namespace=namespace,
        homes=await homes(client),
        links=await _names(client, LINKS),
        grants=await _names(client, GRANTS),
        objects=tuple(objects),
        others=await _others(client, namespace) if exists else (),
    )


async def _names(client: Client, resource: Resource[Json]) -> tuple[str, ...]:
    try:
        found = await client.list(resource)
    except NotFound:
        return ()  # the kind is gone already
    return tuple(one.metadata.name for one in found.objects)


async def _others(client: Client, namespace: str) -> tuple[JsonObject, ...] | None:
    try:
        return tuple([one async for one in _inside(client, namespace)])
    except (Forbidden, NotFound):
        return None


async def _inside(client: Client, namespace: str) -> AsyncIterator[JsonObject]:
    async for resource in listable(client):
        async for page in client.pages(resource, Selection(namespace=namespace)):
            for one in page.objects:
                yield {**one, "kind": resource.kind}


async def _until_ended(ending: Ending, namespace: str) -> None:
    ours = Selection(namespace=namespace, labels=f"{PART_OF}={ISTHMUS}")

    async def look() -> Left | None:
        found = await ending.client.list(PODS, ours)
        if not found.objects:
            return None
        names = ", ".join(one.metadata.name for one in found.objects)
        text = f"still running after {ending.patience:g} s: {names}; try again"
        return Left(f"waiting until pods have ended: {names}", StillRunning(text))

    await ending.until_nothing(look)
