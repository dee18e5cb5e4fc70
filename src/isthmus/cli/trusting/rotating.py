"""What the commands of ``isthmus trust rotate`` do, between their options and their lines."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import click

from isthmus.apps.rotation import planning
from isthmus.apps.rotation.driving import Driver, look_at
from isthmus.apps.rotation.kept import Kept, newest
from isthmus.apps.rotation.looking import Site
from isthmus.apps.rotation.planning import Looks
from isthmus.apps.rotation.steps import Means
from isthmus.cli.trusting import rotateviews
from isthmus.cli.where import Where
from isthmus.model.times import second_time
from isthmus.pki.keys import Pair
from isthmus.pki.rotation import Anchor
from isthmus.runtime.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Mesh:
    """Which clusters are meant."""

    contexts: tuple[str, ...]
    kubeconfig: str | None
    namespace: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """All clusters as they were at first sight."""

    sites: dict[str, Site]
    looks: Looks

    @property
    def kept(self) -> Kept | None:
        return newest(look.copy for look in self.looks.values())

    @property
    def driver(self) -> Driver:
        return Driver(sites=self.sites, clock=SystemClock(), say=click.echo)


async def run(mesh: Mesh, goal: Pair, lifetime: timedelta, *, is_back: bool) -> bool:
    """Bring all clusters below ``goal``; return whether they are."""
    async with _seen(mesh) as seen:
        decide = planning.back if is_back else planning.forward
        kept = decide(seen.looks, seen.kept, goal.certificate)
        if kept is None:
            click.echo("nothing to do: all clusters trust this anchor only, and are below it")
            return True
        click.echo(_headline(kept))
        await seen.driver.keep(seen.looks, kept)
        return await seen.driver.drive(kept, Means(goal, kept.anchors, lifetime))


async def pause(mesh: Mesh) -> bool:
    async with _seen(mesh) as seen:
        await seen.driver.keep(seen.looks, planning.paused(seen.kept))
    click.echo("paused; `isthmus trust rotate run` goes on")
    return True


async def status(mesh: Mesh, output: str) -> bool:
    clock = SystemClock()
    async with _seen(mesh) as seen:
        click.echo(rotateviews.rendered(seen.looks, seen.kept, output, clock.utc()), nl=False)
    return True


@asynccontextmanager
async def _seen(mesh: Mesh) -> AsyncIterator[_Seen]:
    """Connect to all clusters and look at each."""
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(_site(mesh, each)) for each in mesh.contexts]
        looks = await look_at(sites, SystemClock())
        named = {looks[site.context].cluster: site for site in sites}
        yield _Seen(named, planning.named(looks))


@asynccontextmanager
async def _site(mesh: Mesh, context: str) -> AsyncIterator[Site]:
    async with Where(mesh.kubeconfig, context).connected() as client:
        yield Site(context, client, mesh.namespace)


def _headline(kept: Kept) -> str:
    rotation = kept.rotation
    return (
        f"from the anchor {_shown(rotation.other)} to {_shown(rotation.goal)} "
        f"in {', '.join(rotation.clusters)}"
    )


def _shown(anchor: Anchor) -> str:
    return f"{anchor.fingerprint[:16]} (until {second_time(anchor.not_after)})"
