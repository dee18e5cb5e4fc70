"""``isthmus why``: from options to a walk, by way of one cluster or two."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from isthmus.cli.checking.evidence.calls import Case
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.reading import calls, looks
from isthmus.cli.checking.reading.calls import End, Ends
from isthmus.cli.checking.walking.meaning import Typed, typed
from isthmus.cli.checking.walking.steps import Step
from isthmus.cli.checking.walking.walk import walk
from isthmus.cli.where import Where
from isthmus.kube.errors import Forbidden, NotFound, UnknownContext
from isthmus.kube.resources import NAMESPACES
from isthmus.model.errors import IsthmusError, Permanent
from isthmus.model.objects import Key, Namespace


class NothingSeen(Permanent):
    """Neither of the clusters can be looked at. Says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was typed. ``source`` and ``target`` are contexts, or else names of clusters."""

    service: str
    namespace: str | None = None
    source: str | None = None
    target: str | None = None
    account: str = ""
    isthmus: str = "isthmus"  # the namespace of Isthmus in both clusters


@dataclass(frozen=True, slots=True)
class Answer:
    """What was looked at, and what was found, step by step."""

    case: Case
    steps: Sequence[Step]


async def ask(where: Where, question: Question) -> Answer:
    """Look at both clusters, as far as they can be reached, and walk the way of a call."""
    async with _ends(where, question) as ends:
        found = await calls.case(ends, _typed(where, question), question.account)
    if isinstance(found.source, Unseen) and isinstance(found.target, Unseen):
        raise NothingSeen(f"neither cluster can be looked at: {found.source.why}")
    return Answer(found, walk(found))


def _typed(where: Where, question: Question) -> Typed:
    namespace = question.namespace or where.access().namespace
    return typed(question.service, namespace)


@asynccontextmanager
async def _ends(where: Where, question: Question) -> AsyncIterator[Ends]:
    """Open the way to both clusters. What was named as a context has to be one, unless it can be
    the name of a cluster."""
    async with AsyncExitStack() as stack:
        opener, named = _Opener(stack, where, question.isthmus), question.source
        here = await (opener.end(where.context) if named is None else opener.maybe(named))
        there = None if question.target is None else await opener.maybe(question.target)
        if there is None and named is not None and _is_elsewhere(where, named, here):
            there = await opener.end(where.context)
        yield Ends(
            source=here,
            target=there,
            find=opener.find,
            source_name=question.source or "",
            target_name=question.target or "",
        )


def _is_elsewhere(where: Where, source: str, here: End | Unseen) -> bool:
    """Tell whether the context in use is the target's: whoever names the source is not there."""
    chosen = where.context is not None or isinstance(here, Unseen)
    return chosen and where.access().context != source


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens clusters by their contexts, for as long as ``stack`` lasts."""

    stack: AsyncExitStack
    where: Where
    namespace: str

    async def end(self, context: str | None) -> End | Unseen:
        """Go to the cluster of a context; raise if there is no such context."""
        where = self.where.at(context)
        name = where.access().context
        client = await self.stack.enter_async_context(where.connected())
        try:
            await client.get(NAMESPACES, Key("", "kube-system"))
        except (Forbidden, NotFound):
            pass  # an answer all the same; what may be seen, is
        except IsthmusError as error:
            return Unseen(f"context {name}: {error}")
        return End(name, client, self.namespace)

    async def maybe(self, name: str) -> End | Unseen:
        """Go to the cluster of a context, if it is one."""
        try:
            return await self.end(name)
        except UnknownContext:
            return Unseen(f"the kubeconfig has no context {name}")

    async def find(self, name: str, uid: str) -> End | Unseen:
        """Look for a cluster by its name, which may be that of a context, too."""
        if not name:
            return Unseen("which cluster is the target is not known; name its context with --to")
        found = await self.maybe(name)
        if isinstance(found, Unseen):
            return Unseen(f"{found.why}; name one for the target with --to")
        there = await looks.one(found.client, NAMESPACES, Key("", "kube-system"))
        if uid and isinstance(there, Namespace) and there.metadata.uid != uid:
            return Unseen(f"context {name} is another cluster than the one that the Link leads to")
        return found
