"""Connects two clusters: a Grant in the target, a Link in the source, until both are in force.

Everything is tried in both clusters before anything is written in either: who may do half of it
is told so while nothing is half done. Grants come first, so that a Link is let in at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from isthmus.cli.applying import Change, carried_out, rehearsed
from isthmus.cli.installation import gateway_service
from isthmus.cli.joining import documents, verdicts
from isthmus.cli.joining.gateway import Said, reached
from isthmus.cli.joining.granting import as_asked
from isthmus.cli.joining.scope import Scope
from isthmus.cli.joining.sides import NotNow, Side, Unfit, about, require_two
from isthmus.cli.joining.verdicts import Verdict
from isthmus.cli.permissions import APPLY, lacking
from isthmus.cli.progress import Progress
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.resources import GRANTS, LINKS
from isthmus.model.errors import Transient
from isthmus.model.names import GATEWAY
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock

PAUSE = 0.5  # seconds between two looks
GO_ON = "the same command goes on from here"


@dataclass(frozen=True, slots=True)
class End:
    """One of the clusters: the way to it, its name, and what was said about its gateway."""

    side: Side
    name: str
    gateway: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What shall be written, in one direction or in ``both``."""

    settings: JsonObject  # of the Links
    scope: Scope  # of the Grants
    both: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One object in one cluster."""

    end: End
    change: Change

    @property
    def name(self) -> str:
        """The object's, which is that of the other cluster."""
        return str(self.change.wanted["metadata"]["name"])

    def __str__(self) -> str:
        return f"{self.change} in {self.end.side.context}"


@dataclass(slots=True)
class Journal:
    """What has been done, for whoever interrupts it."""

    done: list[Step] = field(default_factory=list)
    doing: Step | None = None

    def __str__(self) -> str:
        did = [f"{one} is {one.change.outcome}" for one in self.done]
        if self.doing is not None:
            did.append(f"{self.doing} was being written")
        return f"{'; '.join(did) or 'nothing was written'}; {GO_ON}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How each object stands in the end."""

    stands: Sequence[tuple[Step, Verdict]]

    @property
    def is_good(self) -> bool:
        return all(each.is_good for _, each in self.stands)

    @property
    def is_final(self) -> bool:
        return any(each.is_final for _, each in self.stands)


async def rehearse(source: End, target: End, wish: Wish) -> list[Step]:
    """Try everything in both clusters; return what is to be done, in order."""
    check(source, target)
    ways = [(source, target), (target, source)] if wish.both else [(source, target)]
    await _require_permissions(ways)
    grants = [await _grant(at, for_, wish) for for_, at in ways]
    links = [await _link(at, to, wish) for at, to in ways]
    return [*grants, *links]


def check(one: End, other: End) -> None:
    """Raise unless these can be two clusters of one mesh."""
    a, b = one.side, other.side
    require_two((a.context, b.context), (a.uid, b.uid))
    if one.name == other.name:
        raise Unfit(
            f"{a.context} and {b.context} are both called {one.name}; the name stands in "
            "certificates, so that one of them has to be installed with another"
        )
    domains = a.installation.mesh_domain, b.installation.mesh_domain
    if all(domains) and domains[0] != domains[1]:
        raise Unfit(
            f"{a.context} is of the mesh domain {domains[0]}, {b.context} of {domains[1]}; "
            "clusters that are to be joined have the same --mesh-domain"
        )


async def carry_out(steps: Sequence[Step], journal: Journal, say: Callable[[str], object]) -> None:
    """Write what is not there yet."""
    for step in steps:
        journal.doing = step
        try:
            with about(step.end.side.context):
                change = await carried_out(step.end.side.client, step.change)
        except (NotNow, Unfit) as error:
            raise type(error)(f"{error}; {journal}") from error
        journal.doing = None
        journal.done.append(replace(step, change=change))
        say(f"{step} {change.outcome}")


async def settle(steps: Sequence[Step], progress: Progress, clock: Clock, within: float) -> Outcome:
    """Wait until controllers have taken up everything, or nobody will."""
    deadline = clock.now() + within
    try:
        while True:
            found = Outcome([(step, await _verdict(step)) for step in steps])
            if found.is_good or found.is_final or clock.now() >= deadline:
                return found
            step, verdict = next((s, v) for s, v in found.stands if not v.is_good)
            progress.waiting(f"waiting for {step}: {verdict}")
            await clock.sleep(PAUSE)
    finally:
        progress.clear()  # be it that somebody has had enough


async def _require_permissions(ways: Sequence[tuple[End, End]]) -> None:
    asked = [(at.side, LINKS) for at, _ in ways], [(at.side, GRANTS) for _, at in ways]
    missing = []
    for side, resource in (each for wanted in asked for each in wanted):
        with about(side.context):
            why = await lacking(side.client, resource, APPLY)
        if why:
            missing.append(f"{side.context}: {why}")
    if missing:
        raise Unfit(f"{'; '.join(missing)}; nothing was written")


async def _grant(at: End, for_: End, wish: Wish) -> Step:
    spec = wish.scope.spec(for_.name)
    with about(at.side.context):
        made = documents.grant(for_.name, spec)
        change = await rehearsed(at.side.client, KINDS[GRANTS.kind], made, force=wish.force)
        as_asked(change, spec)
    return Step(at, change)


async def _link(at: End, to: End, wish: Wish) -> Step:
    service = None
    with about(to.side.context):
        if not to.gateway.is_complete:
            service = await gateway_service(to.side.client, to.side.namespace)
        gateway = reached(to.gateway, service, f"{to.side.namespace}/{GATEWAY}")
    with about(at.side.context):
        made = documents.link(to.name, gateway, wish.settings)
        change = await rehearsed(at.side.client, KINDS[LINKS.kind], made, force=wish.force)
    return Step(at, change)


async def _verdict(step: Step) -> Verdict:
    client, key = step.end.side.client, Key("", step.name)
    try:
        if step.change.resource.kind == LINKS.kind:
            return verdicts.of_link(await client.get(LINKS, key))
        return verdicts.of_grant(await client.get(GRANTS, key))
    except NotFound:
        return verdicts.DELETED
    except Transient as error:
        return Verdict(False, type(error).__name__, str(error))
