"""Ends a Link: lets its controller remove the mirrors, or does that in its place."""

from contextlib import suppress
from dataclasses import dataclass

from isthmus.cli.installation import require_kinds
from isthmus.cli.joining.leftovers import Seen, leftovers
from isthmus.cli.progress import Progress
from isthmus.core.mirror import owner
from isthmus.kube.client import Client
from isthmus.kube.errors import Conflict, NotFound
from isthmus.kube.requests import Preconditions, Selection
from isthmus.kube.resources import ENDPOINT_SLICES, LINKS, NAMESPACES, SERVICES, Resource
from isthmus.model.errors import Transient
from isthmus.model.links import Link
from isthmus.model.names import CREATED_NAMESPACE, FINALIZER, MIRRORED
from isthmus.model.objects import EndpointSlice, Key, Metadata, Service
from isthmus.model.wire import Json
from isthmus.runtime.clock import Clock

PAUSE = 0.5  # seconds between two looks
MIRRORS = Selection(labels=f"{MIRRORED}=true")  # anybody's
ROUNDS = 10  # in which others may change what is about to be deleted


class StillThere(Transient):
    """A Link has not gone in the time that was given. Says what is left, and the way out."""


class Restless(Transient):
    """Somebody goes on writing what is being deleted."""


@dataclass(frozen=True, slots=True)
class Unlinking:
    """One Link of one cluster, named after its target."""

    client: Client
    cluster: str
    clock: Clock
    progress: Progress

    def __str__(self) -> str:
        return f"link.isthmus.dev/{self.cluster}"

    async def wait(self, within: float) -> str:
        """Delete the Link and wait until its controller has removed the mirrors."""
        link = await self._deleted()
        if link is None:
            former = len(leftovers(await self._seen(), self.cluster, ""))
            way_out = f"; --force removes {_counted(former, 'object')} that former Links have left"
            return f"{self} is not there{way_out if former else ''}"
        try:
            await self._wait(link, self.clock.now() + within)
        finally:
            self.progress.clear()  # be it that somebody has had enough
        return f"{self} deleted, and its mirrors with it"

    async def force(self) -> str:
        """Delete the Link, remove its mirrors, and then what keeps the Link from going."""
        link = await self._deleted()
        count = await self._cleared("" if link is None else link.uid)
        others = () if link is None else await self._released(link)
        said = f"{self} {'is not there' if link is None else 'deleted'}; "
        said += f"{_counted(count, 'object')} of it removed"
        if others:
            said += f"; it stays until others have removed their finalizers: {', '.join(others)}"
        kept = await self._namespaces()
        if kept:
            said += f"; namespaces that were made for it stay: {', '.join(kept)}"
        return said

    async def _deleted(self) -> Link | None:
        """Let the Link end; return it, None if it is not there."""
        await require_kinds(self.client)
        key = Key("", self.cluster)
        try:
            link = await self.client.get(LINKS, key)
            if link.metadata.deletion_timestamp is None:
                await self.client.delete(LINKS, key, Preconditions(uid=link.uid))
        except NotFound:
            return None
        return link

    async def _found(self, link: Link) -> Link | None:
        """Return the Link as it is now; None if it is gone, be there another of its name."""
        try:
            found = await self.client.get(LINKS, link.metadata.key)
        except NotFound:
            return None
        return found if found.uid == link.uid else None

    async def _wait(self, link: Link, deadline: float) -> None:
        while (found := await self._found(link)) is not None:
            left = await self._left(found)
            if self.clock.now() >= deadline:
                raise StillThere(
                    f"{self} is being deleted, with {left} left; is a controller running here? If "
                    "there is none any more, --force removes what it would"
                )
            self.progress.waiting(f"waiting for the controller: {left} left")
            await self.clock.sleep(PAUSE)

    async def _left(self, link: Link) -> str:
        """Return what keeps a Link from going: its mirrors, then who has asked to be waited for."""
        found = await self.client.list(SERVICES, MIRRORS)
        mirrors = sum(owner(one.metadata) == link.uid for one in found.objects)
        if mirrors:
            return _counted(mirrors, "mirror")
        names = link.metadata.finalizers
        return f"{_counted(len(names), 'finalizer')} ({', '.join(names)})" if names else "nothing"

    async def _cleared(self, uid: str) -> int:
        """Delete all that is left of the Link; return how much that was."""
        count = 0
        try:
            for _ in range(ROUNDS):
                found = leftovers(await self._seen(), self.cluster, uid)
                if not found:
                    return count
                for one in found:
                    self.progress.waiting(f"removing {one.metadata.key}")
                    count += await self._removed(one)
        finally:
            self.progress.clear()
        raise Restless(
            f"mirrors of {self.cluster} come back as soon as they are deleted; a controller runs "
            "here, so leave them to it: without --force"
        )

    async def _seen(self) -> Seen:
        services = await self.client.list(SERVICES, MIRRORS)
        slices = await self.client.list(ENDPOINT_SLICES, MIRRORS)
        namespaces = await self.client.list(NAMESPACES)
        links = await self.client.list(LINKS)
        return Seen(services.objects, slices.objects, namespaces.objects, links.objects)

    async def _removed(self, one: Service | EndpointSlice) -> bool:
        """Delete the very object that was read; one that has changed is read again first."""
        resource: Resource[Json] = SERVICES if isinstance(one, Service) else ENDPOINT_SLICES
        metadata = one.metadata
        try:
            await self.client.delete(resource, metadata.key, _unchanged(metadata))
        except (Conflict, NotFound):
            return False
        return True

    async def _released(self, link: Link) -> tuple[str, ...]:
        """Take our finalizer off the Link; return those of others, which keep it."""
        for _ in range(ROUNDS):
            found = await self._found(link)
            if found is None:
                return ()
            left = tuple(one for one in found.metadata.finalizers if one != FINALIZER)
            if left == found.metadata.finalizers:
                return left
            version = found.metadata.resource_version
            patch = {"metadata": {"finalizers": list(left), "resourceVersion": version}}
            with suppress(Conflict, NotFound):
                await self.client.merge_patch(LINKS, found.metadata.key, patch)
        raise Restless(f"{self} changes all the time; try again")

    async def _namespaces(self) -> list[str]:
        """Return the namespaces that were made for this Link. They may hold others' things."""
        labels = f"{CREATED_NAMESPACE}={self.cluster}"
        found = await self.client.list(NAMESPACES, Selection(labels=labels))
        return sorted(one.metadata.name for one in found.objects)


def _unchanged(metadata: Metadata) -> Preconditions:
    return Preconditions(uid=metadata.uid, resource_version=metadata.resource_version)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
