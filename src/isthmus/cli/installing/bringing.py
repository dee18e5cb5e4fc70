"""Brings an installation into a cluster, one object after another, each after what it needs.

What can be tried is tried before anything is written, and every right is asked for, so that whoever
may do only half of it is told so while nothing is half done. What is there already is left as it
is: the same command, typed again, goes on where the last one was interrupted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from isthmus.cli.applying import Change, applied, carried_out, rehearsed
from isthmus.cli.joining.permissions import APPLY, lacking
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
NAMESPACE = "Namespace"


class NotAllowed(Permanent):
    """Rights are missing. Names all of them, and nothing was written."""


class NotServed(Transient):
    """A kind is defined, and the server does not serve it yet."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Brings ``objects`` through ``client``, and tells ``say`` about each."""

    client: Client
    objects: Sequence[JsonObject] = field(repr=False)
    say: Callable[[Change], None]
    clock: Clock
    force: bool = False

    async def run(self) -> None:
        """Bring all of them; raises whatever the server refuses the first of them with."""
        await self._check_rights()
        tried = await self._rehearse(self.objects)
        for place, obj in enumerate(self.objects):
            resource = KINDS[obj["kind"]]
            change = tried.get(place)
            if change is None:
                change = await applied(self.client, resource, obj, force=self.force)
            else:
                change = await carried_out(self.client, change)
            self.say(change)
            if obj["kind"] == DEFINITION:
                await self._until_served(obj["metadata"]["name"])

    async def _check_rights(self) -> None:
        asked = {(obj["kind"], obj["metadata"].get("namespace", "")): None for obj in self.objects}
        wrong = [
            sentence
            for kind, namespace in asked
            if (sentence := await lacking(self.client, KINDS[kind], APPLY, namespace))
        ]
        if wrong:
            raise NotAllowed(f"{'; '.join(wrong)}. Nothing was written")

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
