"""A rotation as it is kept in every cluster that it is about: what shall become, and no key.

The same is written to all clusters, one after another and the first by name first, each time with a
higher number: whoever finds different ones takes the highest, and two who change it at once meet at
the first cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from isthmus.kube.client import Client
from isthmus.kube.requests import Preconditions
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.errors import Permanent
from isthmus.model.names import ANCHORS, TRUST_ROTATION
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.model.wire import UNREADABLE
from isthmus.pki import bundle
from isthmus.pki.bundle import BadBundle, Bundle
from isthmus.pki.pem import BadPem
from isthmus.pki.rotation import Rotation

ROTATION, NUMBER = "rotation.json", "number"


class Damaged(Permanent):
    """What is kept of a rotation cannot be read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is to become, the certificates of both anchors, and how often it was changed."""

    rotation: Rotation
    anchors: Bundle
    number: int = 1

    def turned(self, rotation: Rotation) -> "Kept":
        """Return what to keep from now on."""
        return self if rotation == self.rotation else Kept(rotation, self.anchors, self.number + 1)


@dataclass(frozen=True, slots=True)
class Copy:
    """What one cluster keeps; the version is the precondition of every change."""

    kept: Kept
    uid: str
    version: str


def newest(copies: Iterable[Copy | None]) -> Kept | None:
    found = [one.kept for one in copies if one is not None]
    return max(found, key=lambda one: one.number, default=None)


def read(found: ConfigMap) -> Copy:
    """Return what a ConfigMap holds; raise :class:`Damaged`."""
    try:
        rotation = msgspec.json.decode(found.data[ROTATION], type=Rotation)
        kept = Kept(rotation, bundle.parse(found.data[ANCHORS]), int(found.data[NUMBER]))
    except (KeyError, ValueError, BadPem, BadBundle, *UNREADABLE):
        raise Damaged(
            f"ConfigMap {found.metadata.key}: this is not what is kept of a rotation; delete it, "
            "and run the rotation again"
        ) from None
    return Copy(kept, found.metadata.uid, found.metadata.resource_version)


async def write(client: Client, namespace: str, copy: Copy | None, kept: Kept) -> None:
    """Keep ``kept`` in place of ``copy``; raise Conflict if that is not there any more."""
    data = {
        ROTATION: msgspec.json.encode(kept.rotation).decode(),
        ANCHORS: kept.anchors.pem().decode(),
        NUMBER: str(kept.number),
    }
    metadata = Metadata(namespace=namespace, name=TRUST_ROTATION)
    if copy is None:
        await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata, data=data))
    else:
        patch = {"metadata": {"resourceVersion": copy.version}, "data": data}
        await client.merge_patch(CONFIG_MAPS, metadata.key, patch)


async def remove(client: Client, namespace: str, copy: Copy) -> None:
    key = Key(namespace, TRUST_ROTATION)
    await client.delete(
        CONFIG_MAPS, key, Preconditions(uid=copy.uid, resource_version=copy.version)
    )
