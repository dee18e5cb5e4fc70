"""Both ends of a connection, and which of them an error is about."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

from isthmus.cli.installation import (
    Installation,
    cluster_uid,
    installed,
    require_kinds,
)
from isthmus.cli.where import Where
from isthmus.kube.client import Client
from isthmus.model.errors import IsthmusError, Permanent, Transient


class NotNow(Transient):
    """A cluster that cannot be asked, or does not take something, just now. Names its context."""


class Unfit(Permanent):
    """A cluster with which it cannot be done like this. Names its context, and the cause."""


@dataclass(frozen=True, slots=True)
class Side:
    """One cluster: how the user calls it, the way to it, and what it shows of itself."""

    context: str
    client: Client
    namespace: str
    installation: Installation
    uid: str


@contextmanager
def about(context: str) -> Iterator[None]:
    """Let every error say which cluster it is about."""
    try:
        yield
    except (NotNow, Unfit):
        raise  # it does
    except Transient as error:
        raise NotNow(f"{context}: {error}") from error
    except IsthmusError as error:
        raise Unfit(f"{context}: {error}") from error


def require_two(contexts: tuple[str, str], uids: tuple[str, str]) -> None:
    """Raise :class:`Unfit` if two contexts lead to one cluster; a UID is empty if not known."""
    if uids[0] and uids[0] == uids[1]:
        raise Unfit(f"the contexts {' and '.join(contexts)} lead to the same cluster")


def label(where: Where, context: str | None) -> str:
    """Return how a person calls the cluster of a context, be none named."""
    return context or where.context or "the current context"


async def opened(stack: AsyncExitStack, where: Where, context: str | None) -> Client:
    """Connect to the cluster of a context, until ``stack`` ends."""
    with about(label(where, context)):
        return await stack.enter_async_context(where.at(context).connected())


async def seen(client: Client, context: str, namespace: str) -> Side:
    """Look at a cluster in which Isthmus has to be installed."""
    with about(context):
        await require_kinds(client)
        shown = await installed(client, namespace)
        return Side(context, client, namespace, shown, await cluster_uid(client))
