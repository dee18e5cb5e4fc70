"""A catalogue as it travels: one JSON message on each line.

``hello``, then everything that is offered, then ``complete``; from there on what changes, and a
sign of life when nothing does. Whoever reconnects begins anew. Fields that a reader does not know
are skipped, so that they can be added; what changes a meaning gets another version.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from isthmus.catalogue.errors import Garbled
from isthmus.core.offer import Offer
from isthmus.model.exports import Export, Refused
from isthmus.model.objects import Key, Value
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE

VERSION = 1
HEARTBEAT = 10.0  # seconds of silence after which the server says that it is there
LONGEST_REASON = 200  # characters of why a line cannot be read


class Hello(Value, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """Whose catalogue it is. ``uid`` is that of the cluster's kube-system namespace."""

    version: int
    cluster: str
    uid: str
    mesh_domain: str
    cluster_domain: str


class Offered(Value, frozen=True, kw_only=True, tag_field="type", tag="offered"):
    """This can be imported, and this is how it is now."""

    export: Export


class Unfit(Value, frozen=True, kw_only=True, tag_field="type", tag="unfit"):
    """This was marked for export and cannot be imported."""

    refused: Refused
    labels: Mapping[str, str] = {}


class Withdrawn(Value, frozen=True, kw_only=True, tag_field="type", tag="withdrawn"):
    """This is not offered any more, to this reader at least."""

    namespace: str
    name: str


class Complete(Value, frozen=True, kw_only=True, tag_field="type", tag="complete"):
    """Everything was said; so many are offered."""

    count: int


class Alive(Value, frozen=True, kw_only=True, tag_field="type", tag="alive"):
    """Nothing has changed."""


class Revoked(Value, frozen=True, kw_only=True, tag_field="type", tag="revoked"):
    """The last Grant for this reader is gone, and the stream ends. Nothing is said about what
    was offered: that a reader may not see something does not mean that it is not there."""


Message: TypeAlias = Hello | Offered | Unfit | Withdrawn | Complete | Alive | Revoked

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def line(message: Message) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def message(text: bytes) -> Message:
    """Return the message of one line; raise ``Garbled`` if it is none."""
    try:
        return _decoder.decode(text)
    except UNREADABLE as error:
        # The error may quote the line, which is as long as its sender likes.
        why = one_line(str(error), LONGEST_REASON)
        raise Garbled(f"a line is no message of a catalogue: {why}") from None


def offering(offer: Offer) -> bytes:
    """Return the line that says ``offer``."""
    if isinstance(offer.said, Export):
        return line(Offered(export=offer.said))
    return line(Unfit(refused=offer.said, labels=offer.labels))


def withdrawing(key: Key) -> bytes:
    return line(Withdrawn(namespace=key.namespace, name=key.name))
