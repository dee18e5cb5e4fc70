"""The floor with our own structures: what decoding alone costs, before the client adds to it."""

from collections.abc import Callable, Sequence, Sized

import msgspec

from bench.consumers import bare
from bench.target import Target
from isthmus.model.objects import EndpointSlice, Service


class Services(msgspec.Struct):
    items: tuple[Service, ...]


class Slices(msgspec.Struct):
    items: tuple[EndpointSlice, ...]


class Event(msgspec.Struct):
    type: str
    object: Service


_services = msgspec.json.Decoder(Services)
_slices = msgspec.json.Decoder(Slices)
DECODERS = bare.Decoders(
    services=lambda body: _services.decode(body).items,
    slices=lambda body: _slices.decode(body).items,
    event=msgspec.json.Decoder(Event).decode,
)


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    return bare.listing(target, DECODERS)


def watching(target: Target, seen: Callable[[], bool]) -> None:
    bare.watching(target, DECODERS, seen)
