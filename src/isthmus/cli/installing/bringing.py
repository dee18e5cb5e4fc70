"""Brings an installation into a cluster, one object after another, each after what it needs.

What can be tried is tried before anything is written, and every right is asked for, so that whoever
may do only half of it is told so while nothing is half done. What is there already is left as it
is: the same command, typed again, goes on where the last one was interrupted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus import install
from isthmus.cli.applying import Change, applied, carried_out, rehearsed
from isthmus.cli.installing import rights
from isthmus.cli.installing.removing import present, remove
from isthmus.cli.permissions import APPLY
from isthmus.install.parts import is_ours, unclaimed
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.model.errors import Permanent, Transient
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock

PATIENCE = 60.0  # seconds for the server to serve a new kind
PAUSE = 0.2  # seconds between two looks
DEFINITION = "CustomResourceDefinition"

Say = Callable[[JsonObject, str], None]  # an object, and what has become of it


class NoNamespace(Permanent):
    """The namespace is somebody else's to make, and nobody has."""


class NotServed(Transient):
    """A kind is defined, and the server does not serve it yet."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Brings what ``values`` say through ``client``, and tells ``say`` about each object."""

    client: Client
    values: Values
    say: Say
    clock: Clock
    force: bool = False

    async def run(self) -> None:
        """Bring all of them; raises whatever the server refuses the first of them with."""
        objects = await self._fitting(install.objects(self.values))
        await rights.check(self.client, objects, APPLY)
        old = [one for one in await self._superseded() if is_ours(one)]
        await rights.check(self.client, old, ("delete",))
        tried = await self._rehearse(objects)
        for place, obj in enumerate(objects):
            change = await self._bring(obj, tried.get(place))
            self.say(obj, change.outcome)
            if obj["kind"] == DEFINITION:
                await self._until_served(obj["metadata"]["name"])
        for one in old:
            await remove(self.client, one)
            self.say(one, "deleted")

    async def _fitting(self, objects: list[JsonObject]) -> list[JsonObject]:
        """Leave to others the namespace that they have made; raise if nobody has, nor will."""
        name = self.values.namespace
        try:
            found = await self.client.get(KINDS["Namespace"], Key("", name))
        except NotFound as error:
            if self.values.create_namespace:
                return objects
            raise NoNamespace(
                f"there is no namespace {name}, and createNamespace is false; make it first. "
                "Nothing was written"
            ) from error
        if is_ours(found):
            return objects
        return [unclaimed(one) if one["kind"] == "Namespace" else one for one in objects]

    async def _bring(self, obj: JsonObject, tried: Change | None) -> Change:
        if tried is not None:
            return await carried_out(self.client, tried)
        return await applied(self.client, KINDS[obj["kind"]], obj, force=self.force)

    async def _superseded(self) -> list[JsonObject]:
        """Return what an earlier installation has made and this one does without."""
        return [one async for one in present(self.client, install.superseded(self.values))]

    async def _rehearse(self, objects: Sequence[JsonObject]) -> dict[int, Change]:
        """Try what can be tried now: not what is in a namespace that is still to be made, nor
        bindings to roles that are."""
        found: dict[int, Change] = {}
        for place, obj in enumerate(objects):
            resource = KINDS[obj["kind"]]
            try:
                found[place] = await rehearsed(self.client, resource, obj, force=self.force)
            except NotFound:
                continue
        return found

    async def _until_served(self, name: str) -> None:
        """A kind is served a moment after its definition was stored."""
        deadline = self.clock.now() + PATIENCE
        while not await self._is_established(name):
            if self.clock.now() > deadline:
                raise NotServed(f"{name} is defined, and not served after {PATIENCE:g} s")
            await self.clock.sleep(PAUSE)

    async def _is_established(self, name: str) -> bool:
        found = await self.client.get(KINDS[DEFINITION], Key("", name))
        said = found.get("status", {}).get("conditions") or ()
        return any(one["type"] == "Established" and one["status"] == "True" for one in said)
