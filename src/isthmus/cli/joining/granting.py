"""Lets other clusters in, and shuts them out again: the Grants of this cluster."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from isthmus.cli.applying import Change, carried_out, rehearsed
from isthmus.cli.joining import documents
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Preconditions
from isthmus.kube.resources import GRANTS
from isthmus.model.errors import Permanent
from isthmus.model.grants import Grant, GrantSpec
from isthmus.model.wire import Json


class NotAsAsked(Permanent):
    """Others have a say in a Grant, which would let in more, or fewer, than was asked for."""


async def allow(client: Client, name: str, spec: GrantSpec, *, force: bool) -> Change:
    """Bring a Grant into the cluster that says exactly this."""
    wanted = documents.grant(name, spec)
    change = await rehearsed(client, KINDS[GRANTS.kind], wanted, force=force)
    as_asked(change, spec)
    return await carried_out(client, change)


def as_asked(change: Change, spec: GrantSpec) -> None:
    """Raise unless a Grant becomes what was asked for.

    Applying leaves alone what others have written into it, and a line that is not there means
    "all": somebody who asks for everything must not be told that a narrow Grant is unchanged,
    nor get a wide one for asking for little.
    """
    found = msgspec.convert(change.after, Grant).spec
    differs = [field for field, value in _lines(spec).items() if _lines(found)[field] != value]
    if differs:
        raise NotAsAsked(
            f"{change}: somebody else has set {', '.join(differs)}, which stays; edit or delete "
            "that Grant, or choose another name with --name: Grants add up"
        )


def _lines(spec: GrantSpec) -> dict[str, Json]:
    """Return what a Grant says, line by line; lists say the same in any order."""

    def members(given: tuple[str, ...] | None) -> frozenset[str] | None:
        return None if given is None else frozenset(given)

    return {
        "cluster": spec.cluster,
        "from.namespaces": members(spec.from_.namespaces),
        "from.serviceAccounts": members(spec.from_.service_accounts),
        "to.namespaces": members(spec.to.namespaces),
        "to.services": members(spec.to.services),
        "to.selector": spec.to.selector,
    }


async def grants_for(client: Client, cluster: str) -> Sequence[Grant]:
    """Return all Grants that let ``cluster`` in, whatever they are called: they add up."""
    found = await client.list(GRANTS)
    return [one for one in found.objects if one.spec.cluster == cluster]


async def deny(client: Client, grant: Grant) -> None:
    """Delete a Grant, if it still is the one that was read."""
    metadata = grant.metadata
    unchanged = Preconditions(uid=metadata.uid, resource_version=metadata.resource_version)
    with suppress(NotFound):  # as wanted
        await client.delete(GRANTS, metadata.key, unchanged)
