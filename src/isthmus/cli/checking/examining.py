"""``isthmus check``: from options to checks; once, or until all is well."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from isthmus.cli.checking.checks import Check, failed
from isthmus.cli.checking.evidence.clusters import Census
from isthmus.cli.checking.judging.before import before as judge_before
from isthmus.cli.checking.judging.installed import absent, installed
from isthmus.cli.checking.judging.joined import joined
from isthmus.cli.checking.judging.linked import linked
from isthmus.cli.checking.judging.mirrored import mirrored
from isthmus.cli.checking.judging.trusted import trusted
from isthmus.cli.checking.reading.census import before, census, present
from isthmus.cli.checking.reading.reach import reached
from isthmus.cli.progress import Progress
from isthmus.cli.where import Where
from isthmus.runtime.clock import Clock, SystemClock

PAUSE = 2.0  # seconds between two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be checked. ``others`` are contexts of clusters to compare with."""

    namespace: str = "isthmus"
    is_before: bool = False
    others: tuple[str, ...] = ()


async def run(
    where: Where, wanted: Wanted, patience: float = 0.0, progress: Progress | None = None
) -> Sequence[Check]:
    """Check; while something is wrong, check again until ``patience`` ends."""
    return await settled(lambda: checked(where, wanted), patience, progress, SystemClock())


async def settled(
    look: Callable[[], Awaitable[Sequence[Check]]],
    patience: float,
    progress: Progress | None,
    clock: Clock,
) -> Sequence[Check]:
    """Look again and again until nothing fails, or ``patience`` ends."""
    deadline = clock.now() + patience
    while True:
        found = await look()
        left = deadline - clock.now()
        if not failed(found) or left <= 0:
            break
        if progress is not None:
            wrong = [one.name for one in found if one.outcome == "error"]
            progress.waiting(f"waiting for {len(wrong)}: {', '.join(wrong)} ({left:.0f} s left)")
        await clock.sleep(min(PAUSE, left))
    if progress is not None:
        progress.clear()
    return found


async def checked(where: Where, wanted: Wanted) -> list[Check]:
    """Check a cluster, and those that it is to be compared with."""
    async with reached(where.kubeconfig, where.context) as here:
        found = list(here.checks)
        if here.client is None:
            return found
        client, space = here.client, wanted.namespace
        there = await present(client, space)
        if wanted.is_before or not there.is_installed:
            return [*found, *judge_before(await before(client, space, there), space)]
        if (lost := absent(there, space)) is not None:
            return [*found, lost]
        own = await census(client, here.context, space, there)
        found += [*installed(own), *trusted(own.site), *linked(own), *mirrored(own)]
        for context in wanted.others:
            found += await _compared(where, own, context)
        return found


async def _compared(where: Where, own: Census, context: str) -> list[Check]:
    """Look at another cluster as far as two have to fit; how it is by itself, is its own check."""
    async with reached(where.kubeconfig, context) as there:
        if there.client is None:
            return [replace(one, group=f"{context}: {one.group}") for one in there.checks]
        client, space = there.client, own.site.namespace
        other = await census(client, there.context, space, await present(client, space))
        return list(joined(own, other))
