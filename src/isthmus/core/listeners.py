"""Listener ports of the egress: one for each mirrored port, chosen once, kept in the slice."""

from collections.abc import Iterable, Mapping
from zlib import crc32

from isthmus.model.errors import Transient
from isthmus.model.objects import EndpointSlice, Key

FIRST, LAST = 20_000, 59_999


class Exhausted(Transient):
    """Every listener port is in use; one is free again when a mirror goes."""


def recorded(slices: Iterable[EndpointSlice]) -> dict[str, int]:
    """Return the listener port of each port name, as a mirror's slices say."""
    return {
        port.name: port.port
        for one in slices
        for port in one.ports
        if port.port is not None and FIRST <= port.port <= LAST
    }


def chosen(
    key: Key, wanted: Iterable[str], known: Mapping[str, int], taken: Mapping[int, Key]
) -> dict[str, int]:
    """Give each port name of ``key`` a listener: the recorded one, unless it is another's.

    The search starts at a place that the name decides, so that mirrors made anew, in any
    order, tend to get the ports they had.
    """
    result: dict[str, int] = {}
    for name in wanted:
        port = known.get(name)
        if port is None or taken.get(port, key) != key or port in result.values():
            port = _free(f"{key}:{name}", taken, set(result.values()))
        result[name] = port
    return result


def _free(seed: str, taken: Mapping[int, Key], chosen_now: set[int]) -> int:
    size = LAST - FIRST + 1
    start = crc32(seed.encode())
    for step in range(size):
        port = FIRST + (start + step) % size
        if port not in taken and port not in chosen_now:
            return port
    raise Exhausted(f"all {size} listener ports of the egress are in use")
