"""What ``isthmus install`` does, between its options and its lines."""

import asyncio
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeVar

import click

from isthmus import __version__
from isthmus import install as room
from isthmus.cli import installation, render
from isthmus.cli.installing.bringing import Delivery, Say
from isthmus.cli.installing.removing import named
from isthmus.cli.installing.trust import Chosen, Present
from isthmus.cli.installing.wishes import Meant, Wish, meant
from isthmus.cli.trusting.trust import ToTerminal
from isthmus.cli.where import Where
from isthmus.install import keys
from isthmus.install.everything import bare
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import CONFIG_MAPS, SECRETS, Resource
from isthmus.model.names import ISSUER, TRUST
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock

T = TypeVar("T")


def install(where: Where, wish: Wish, output: str | None) -> int:
    """Print what was wished for, or bring it into the cluster."""
    wanted = meant(wish)
    if wish.apply:
        _apply(where, wish, wanted, output)
        return 0
    values, chosen = wanted.beside(Present(), datetime.now(UTC))
    objects = room.objects(values)
    if any(one["kind"] == "Secret" for one in objects) and sys.stdout.isatty():
        raise ToTerminal("a private key is not shown on a terminal; use a pipe, or --apply")
    click.echo(render.manifests(objects, output or "yaml"), nl=False)
    if chosen.note:
        click.echo(chosen.note, err=True)
    return 0


def described(output: str | None) -> str:
    """Everything that can be chosen."""
    found = list(keys.entries(Values))
    if output is None:
        rows = [(one.path, one.takes, one.shown_default, one.text) for one in found]
        return render.rows(("Key", "Takes", "Default", "Meaning"), rows) + "\n"
    said = [
        {"key": one.path, "takes": one.takes, "default": one.plain_default, "meaning": one.text}
        for one in found
    ]
    return render.document({"keys": said}, output)


def _apply(where: Where, wish: Wish, wanted: Meant, output: str | None) -> None:
    done: list[tuple[JsonObject, str]] = []

    def say(obj: JsonObject, outcome: str) -> None:
        done.append((obj, outcome))
        if output is None:
            click.echo(f"{named(obj)} {outcome}")

    try:
        values, notes = asyncio.run(_bring(where, wanted, say, force=wish.force_conflicts))
    except KeyboardInterrupt:
        were = f"{len(done)} objects are in place" if done else "nothing was written"
        click.echo(f"interrupted: {were}; the same command goes on from here", err=True)
        raise
    if output is None:
        for line in notes:
            click.echo(line)
    else:
        click.echo(render.document(_outcome(values, done), output), nl=False)


async def _bring(where: Where, wanted: Meant, say: Say, *, force: bool) -> tuple[Values, list[str]]:
    clock, name = SystemClock(), wanted.values.cluster_name
    namespace = wanted.values.namespace
    async with where.connected() as client:
        shown = await installation.installed(client, namespace)
        installation.name(name, shown, "--cluster-name")
        present = await _present(client, namespace)
        values, chosen = wanted.beside(present, clock.utc())
        await Delivery(client, values, say, clock, force).run()
    return values, list(_notes(values, chosen, present))


async def _present(client: Client, namespace: str) -> Present:
    anchors = await _found(client, CONFIG_MAPS, Key(namespace, TRUST))
    issuer = await _found(client, SECRETS, Key(namespace, ISSUER))
    return Present(anchors, issuer)


async def _found(client: Client, resource: Resource[T], key: Key) -> T | None:
    try:
        return await client.get(resource, key)
    except NotFound:
        return None


def _notes(values: Values, chosen: Chosen, present: Present) -> Iterator[str]:
    """Say what has become of the cluster, and what it lacks."""
    yield f"Isthmus {__version__} is installed in {values.namespace}, as {values.cluster_name}"
    if chosen.note:
        yield f"  {chosen.note}"
    signs = present.issuer is not None or values.trust.issuer.key
    trusts = present.anchors is not None or values.trust.anchors
    if not (signs and trusts):
        yield (
            "  it has no certificates yet, and its proxies wait for them: give it "
            "--anchor DIR, or see `isthmus trust issue --help`"
        )


def _outcome(values: Values, done: list[tuple[JsonObject, str]]) -> JsonObject:
    said = [{**bare(obj), "outcome": outcome} for obj, outcome in done]
    return {"cluster": values.cluster_name, "namespace": values.namespace, "objects": said}
