"""One link's side of what the controller knows: its target, as last read, and its gateway."""

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from isthmus.apps.controller.mirroring.remote import Remote
from isthmus.core.dusk import Held, is_dark, kept
from isthmus.core.guard import Guard
from isthmus.core.index import Admitted
from isthmus.core.world import LinkView
from isthmus.model.exports import Export, NamedPod, Refused
from isthmus.model.links import Link
from isthmus.model.names import FINALIZER
from isthmus.model.objects import Key


@dataclass(frozen=True, slots=True)
class Contact:
    """How things stand with a target: a reason and a sentence, fit for a condition."""

    connected: bool | None  # None: not known yet
    reason: str
    message: str = ""
    is_live: bool = False  # whether the target is being watched, be it with an older credential


UNKNOWN = Contact(None, "Connecting", "no contact yet")


class Target:
    """What is known about one link. ``remote`` is the last complete reading, and is kept."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.domain = ""  # of the target, by its own word; the link's counts until that is heard
        self.remote: Remote | None = None
        self.admitted = Admitted.by(link.spec)
        self.refused: dict[Key, Refused] = {}
        self.guard = Guard()
        self.dusk = Guard()  # the same for exports that would lose all endpoints
        self.kept: dict[Key, tuple[NamedPod, ...]] = {}  # those, with the pods that they keep
        self.listing = 0  # how many independent lists have confirmed a loss
        self.doubt = asyncio.Event()  # set while a guard holds something
        self.contact = UNKNOWN
        self.pinned = link.status.cluster_uid
        self.answering = ""  # the identity of the cluster that has answered last
        self.rival = ""  # an older link to the same cluster
        self.gateway_known: bool | None = None  # None: no probe has been conclusive yet
        self.gateway_alive = recorded_health(link)
        self.gateway_addresses: tuple[str, ...] = ()
        self.refused_addresses: tuple[str, ...] = ()  # of the gateway, each with the reason
        self.unreadable: dict[Key, str] = {}
        self.complaints: tuple[str, ...] = ()  # of proxies, about what they were told

    def pin(self, cluster_uid: str) -> None:
        """Be this cluster from now on. What was read of another one says nothing about it."""
        if self.pinned not in ("", cluster_uid):
            self.remote = None
        self.pinned = cluster_uid

    def placed(self, link: Link) -> Link:
        """Return ``link`` with the domain that the target says it has, if it has said so."""
        if not self.domain or link.spec.via == "api":
            return link
        return replace(link, spec=replace(link.spec, cluster_domain=self.domain))

    @property
    def uid(self) -> str:
        return self.link.uid

    @property
    def is_ending(self) -> bool:
        return self.link.metadata.deletion_timestamp is not None

    @property
    def is_armed(self) -> bool:
        """Whether mirrors may be made.

        Not before the finalizer is there that removes them, and the target's identity that every
        later reading is compared with; nor as long as an older link has the same target.
        """
        recorded = self.link.status.cluster_uid
        return (
            FINALIZER in self.link.metadata.finalizers
            and bool(recorded)
            and recorded == self.pinned
            and not self.rival
            and not self.is_ending
        )

    @property
    def identity(self) -> str:
        """The target's identity as it should be recorded: not that of another link's target."""
        return self.link.status.cluster_uid if self.rival else self.pinned

    @property
    def is_misrecorded(self) -> bool:
        """Whether the status names another cluster than the one that is pinned and answers:
        somebody has edited it, and it has to be written again."""
        recorded = self.link.status.cluster_uid
        is_known = bool(recorded and self.pinned) and self.pinned == self.answering
        return is_known and recorded != self.pinned

    @property
    def age(self) -> tuple[str, str]:
        """Sorts links: the oldest first."""
        return self.link.metadata.creation_timestamp or "", self.uid

    @property
    def held(self) -> Held:
        """What a second list has to confirm."""
        return Held(frozenset(self.guard.held), frozenset(self.kept))

    @property
    def is_synced(self) -> bool:
        return self.remote is not None

    def view(self) -> LinkView:
        return LinkView(
            link=self.link,
            exports=self.admitted.exports,
            # A link that is being deleted wants nothing, and needs nobody's word for that.
            synced=(self.is_synced and self.is_armed) or self.is_ending,
            deletions_held=self.guard.holds and not self.is_ending,
            gateway_alive=self.gateway_alive,
            gateway_addresses=self.gateway_addresses,
        )

    def rebuild(self) -> None:
        """Digest everything anew, because the link or the whole reading is another."""
        self.admitted = Admitted.by(self.link.spec)
        self.refused = {}
        if self.remote is None or not self.is_armed:
            self.kept.clear()
            return
        known = self.remote.keys
        for key in (*known, *(self.kept.keys() - known)):
            self.digest(key)

    def digest(self, key: Key) -> set[Key]:
        """Digest one Service; return the exports that are others, more or fewer by it."""
        found = None
        if self.remote is not None and self.is_armed:
            found = self.remote.digest(key, self.link)
        if isinstance(found, Refused):
            self.refused[key] = found
        else:
            self.refused.pop(key, None)
        if key in self.kept:
            if isinstance(found, Export) and is_dark(found):
                found = kept(found, self.kept[key])
            else:
                del self.kept[key]
        return self.admitted.put(key, found if isinstance(found, Export) else None)


def recorded_health(link: Link) -> bool:
    """Return the gateway's health as the status has it: until a probe knows better, it stays."""
    return not any(
        one.type == "GatewayAlive" and one.status == "False" for one in link.status.conditions
    )
