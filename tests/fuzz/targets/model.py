"""Texts that mean something everywhere: YAML, times, durations, identities, addresses."""

from contextlib import suppress
from math import isfinite

from isthmus.model import identities, times, yamls
from isthmus.model.addresses import bracketed, meant, refusal
from isthmus.model.identities import MESH_DOMAIN, NotAnIdentity
from isthmus.model.wire import Json
from isthmus.model.yamls import BadYaml, Taken
from tests.fuzz.target import refusing, target, text_of


@target
def yaml_document(data: bytes) -> None:
    for meaning in (yamls.scalar, yamls.constant):
        with refusing(BadYaml):
            found = yamls.read(text_of(data), Taken("a file", meaning))
            values, levels = _size(found)
            assert values <= yamls.MOST
            assert levels <= yamls.DEEPEST + 1


def _size(value: Json) -> tuple[int, int]:
    """Return how many values there are, and on how many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    sizes = [_size(one) for one in inner]
    return 1 + sum(one for one, _ in sizes), 1 + max((deep for _, deep in sizes), default=0)


@target
def time_of_the_api(data: bytes) -> None:
    with suppress(ValueError):
        found = times.parsed(text_of(data))
        assert times.parsed(times.micro_time(found)) == found


@target
def duration(data: bytes) -> None:
    with suppress(ValueError):
        found = times.seconds(text_of(data))
        assert isfinite(found)
        assert found >= 0


@target
def identity(data: bytes) -> None:
    text = text_of(data)
    with refusing(NotAnIdentity):
        assert str(identities.parse(text, MESH_DOMAIN)) == text


@target
def address(data: bytes) -> None:
    text = text_of(data)
    why = refusal(text)
    assert why is None or why.isprintable()
    assert refusal(text.upper()) == why
    if refusal(text, allow_loopback=True) is not None:
        assert why is not None
    found = meant(text)
    if found is not None:
        assert meant(str(found)) == found
        assert meant(bracketed(str(found)).strip("[]")) == found
