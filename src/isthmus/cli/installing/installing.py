"""What ``isthmus install`` does, between its options and its lines."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import click

from isthmus import __version__
from isthmus import install as room
from isthmus.cli import installation, render
from isthmus.cli.installing import remembering
from isthmus.cli.installing.bringing import Delivery, Say
from isthmus.cli.installing.ending import Ending
from isthmus.cli.installing.removing import named
from isthmus.cli.installing.trust import Chosen, Present
from isthmus.cli.installing.wishes import Draft, Wish, drafted
from isthmus.cli.progress import watched
from isthmus.cli.trusting.trust import ToTerminal
from isthmus.cli.where import Where
from isthmus.install import keys
from isthmus.install.everything import bare
from isthmus.install.memory import Difference
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import CONFIG_MAPS, SECRETS, Resource
from isthmus.model.names import ISSUER, TRUST
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Brought:
    """What was brought into a cluster, beside what it had already."""

    values: Values
    chosen: Chosen
    present: Present
    difference: Difference


def install(where: Where, wish: Wish, output: str | None) -> int:
    """Print what was wished for, or bring it into the cluster."""
    draft = drafted(wish)
    if wish.apply:
        _apply(where, draft, output)
        return 0
    values, chosen = draft.meant({}).beside(Present(), datetime.now(UTC))
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


def _apply(where: Where, draft: Draft, output: str | None) -> None:
    done: list[tuple[JsonObject, str]] = []

    def say(obj: JsonObject, outcome: str) -> None:
        done.append((obj, outcome))
        if output is None:
            click.echo(f"{named(obj)} {outcome}")

    try:
        brought = asyncio.run(_bring(where, draft, say))
    except KeyboardInterrupt:
        were = f"{len(done)} objects are in place" if done else "nothing was written"
        click.echo(f"interrupted: {were}; the same command goes on from here", err=True)
        raise
    if output is None:
        for line in _notes(brought):
            click.echo(line)
    else:
        click.echo(render.document(_outcome(brought, done), output), nl=False)


async def _bring(where: Where, draft: Draft, say: Say) -> Brought:
    async with where.connected() as client:
        return await bring(client, draft, say, SystemClock())


async def bring(client: Client, draft: Draft, say: Say, clock: Clock) -> Brought:
    """Bring what was wished for into a cluster, beside what it has; tell ``say`` of each object."""
    namespace = draft.namespace
    # What is left of one that was just removed is nothing to build on.
    await Ending(client, clock, watched(sys.stderr), draft.wish.timeout).until_gone(namespace)
    shown = await installation.installed(client, namespace)
    await remembering.require_alone(client, namespace)
    remembered: Mapping[str, str] = {}
    if not draft.wish.reset_values:
        remembered = await remembering.remembered(client, namespace, shown)
    wanted = draft.meant(remembered)
    installation.name(wanted.values.cluster_name, shown, "--cluster-name")
    present = await _present(client, namespace)
    values, chosen = wanted.beside(present, clock.utc())
    await Delivery(client, values, say, clock, draft.wish.force_conflicts).run()
    return Brought(values, chosen, present, remembering.difference(remembered, values))


async def _present(client: Client, namespace: str) -> Present:
    anchors = await _found(client, CONFIG_MAPS, Key(namespace, TRUST))
    issuer = await _found(client, SECRETS, Key(namespace, ISSUER))
    return Present(anchors, issuer)


async def _found(client: Client, resource: Resource[T], key: Key) -> T | None:
    try:
        return await client.get(resource, key)
    except NotFound:
        return None


def _notes(brought: Brought) -> Iterator[str]:
    """Say what has become of the cluster, and what it lacks."""
    values, chosen, present = brought.values, brought.chosen, brought.present
    yield f"Isthmus {__version__} is installed in {values.namespace}, as {values.cluster_name}"
    if brought.difference.kept:
        yield f"  as it was chosen before: {remembering.kept(brought.difference)}"
    if brought.difference.changed:
        yield f"  changed: {remembering.changed(brought.difference)}"
    if chosen.note:
        yield f"  {chosen.note}"
    signs = present.issuer is not None or values.trust.issuer.key
    trusts = present.anchors is not None or values.trust.anchors
    if not (signs and trusts):
        yield (
            "  it has no certificates yet, and its proxies wait for them: give it "
            "--anchor DIR, or see `isthmus trust issue --help`"
        )


def _outcome(brought: Brought, done: list[tuple[JsonObject, str]]) -> JsonObject:
    found = brought.difference
    return {
        "cluster": brought.values.cluster_name,
        "namespace": brought.values.namespace,
        "objects": [{**bare(obj), "outcome": outcome} for obj, outcome in done],
        "kept": dict(found.kept),
        "changed": {key: {"from": was, "to": now} for key, (was, now) in found.changed.items()},
    }
