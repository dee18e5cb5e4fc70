"""Which mirror has which listener port of the egress: what slices say, and what is on its way."""

from collections.abc import Iterable, Iterator, Mapping

from isthmus.core.listeners import FIRST, LAST
from isthmus.model.objects import EndpointSlice, Key, Service, service_of
from isthmus.runtime.cache import Cache


class Listeners(Mapping[int, Key]):
    """Ports that are taken, with the mirror that has them.

    A port that a plan has chosen is taken from that moment on, since another name may be planned
    before the watch shows the slice in which it is recorded.
    """

    def __init__(self, slices: Cache[Key, EndpointSlice], services: Cache[Key, Service]) -> None:
        self._slices = slices.objects
        self._services = services.objects
        self._by_port = slices.index(_ports)
        self._reserved: dict[int, Key] = {}
        self._ports_of: dict[Key, frozenset[int]] = {}

    def reserve(self, mirror: Key, slices: Iterable[EndpointSlice]) -> None:
        """Let ``mirror`` have the ports of slices that are about to be written, and no others."""
        for port in self._ports_of.pop(mirror, ()):
            del self._reserved[port]
        ports = frozenset(port for one in slices for port in _ports(one) if port not in self)
        if ports:
            self._ports_of[mirror] = ports
            self._reserved |= dict.fromkeys(ports, mirror)

    def __getitem__(self, port: int) -> Key:
        if port in self._reserved:
            return self._reserved[port]
        holders = list(self._holders(port))
        if not holders:
            raise KeyError(port)
        return min(holders)

    def __contains__(self, port: object) -> bool:
        return isinstance(port, int) and (port in self._reserved or any(self._holders(port)))

    def __iter__(self) -> Iterator[int]:
        return iter({*self._reserved, *(port for port in self._by_port if port in self)})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _holders(self, port: int) -> Iterator[Key]:
        for one in self._by_port[port]:
            for key in service_of(self._slices[one]):
                if not self._is_headless(key):
                    yield key

    def _is_headless(self, key: Key) -> bool:
        """The ports of a headless mirror's slice are its pods', not the egress's."""
        service = self._services.get(key)
        return service is not None and service.spec.cluster_ip == "None"


def _ports(one: EndpointSlice) -> list[int]:
    return [port.port for port in one.ports if port.port and FIRST <= port.port <= LAST]
