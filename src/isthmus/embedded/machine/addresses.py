"""Service addresses: what kube-proxy does, with a listener per Service port.

The connection to the pod is made from the caller's own address, so that the pod sees who
calls it. A port without endpoints has no listener, hence is refused; connections that are open
stay as they are, whatever becomes of the Service.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address
from typing import TypeAlias

from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.streams import (
    WAITING,
    Spawn,
    Stream,
    abort_after,
    carry,
    connect,
    reset,
)
from isthmus.model.errors import Transient
from isthmus.model.objects import EndpointSlice, Key, Service, ServicePort

Place: TypeAlias = tuple[str, int]


class Unbound(Transient):
    """A Service's address could not be bound."""


class ServiceAddresses:
    def __init__(
        self,
        services: Mapping[Key, Service],
        slices: Callable[[Key], Iterable[EndpointSlice]],
        ports: Ports,
        spawn: Spawn,
    ) -> None:
        self._services = services
        self._slices = slices
        self._ports = ports
        self._spawn = spawn
        self._listeners: dict[Key, dict[Place, asyncio.Server]] = {}
        self._turn: dict[tuple[Key, int], int] = {}

    async def reconcile(self, key: Key) -> None:
        """Listen exactly where the Service answers now."""
        wanted = self._places(key)
        present = self._listeners.setdefault(key, {})
        for place in present.keys() - wanted:
            present.pop(place).close()
            self._turn.pop((key, place[1]), None)
        for place in sorted(wanted - present.keys()):
            try:
                present[place] = await self._listen(key, place)
            except OSError as error:
                text = f"service {key}: {place[0]}:{place[1]}: {error.strerror}"
                raise Unbound(text) from error
        if not present:
            del self._listeners[key]

    def close(self) -> None:
        for listeners in self._listeners.values():
            for server in listeners.values():
                server.close()
        self._listeners.clear()

    def _places(self, key: Key) -> set[Place]:
        service = self._services.get(key)
        if service is None or service.spec.cluster_ip in ("", "None"):
            return set()
        return {
            (service.spec.cluster_ip, self._ports.at(port.port))
            for port in service.spec.ports
            if port.protocol == "TCP" and backends(port, self._slices(key))
        }

    async def _listen(self, key: Key, place: Place) -> asyncio.Server:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            abort_after(self._spawn(self._forward(key, place[1], (reader, writer))), writer)

        return await asyncio.start_server(accept, *place, backlog=WAITING)

    async def _forward(self, key: Key, bound: int, caller: Stream) -> None:
        try:
            address, port = self._next(key, bound)
            source = caller[1].get_extra_info("peername")[0]
            receiver = await connect(source, address, port)
        except OSError:
            reset(caller[1])
        else:
            await carry(caller, receiver)

    def _next(self, key: Key, bound: int) -> Place:
        """The endpoint whose turn it is, as things are now."""
        service = self._services.get(key)
        for port in service.spec.ports if service else ():
            if port.protocol == "TCP" and self._ports.at(port.port) == bound:
                found = backends(port, self._slices(key))
                if found:
                    turn = self._turn.get((key, bound), 0)
                    self._turn[key, bound] = turn + 1
                    return found[turn % len(found)]
        raise ConnectionRefusedError(f"service {key} has no endpoints")


def backends(port: ServicePort, slices: Iterable[EndpointSlice]) -> list[Place]:
    """Where calls to a Service's port may go: ready endpoints, else such as still serve.

    Only loopback addresses count: others may be reached from a real cluster, not from here.
    """
    ready: set[Place] = set()
    serving: set[Place] = set()
    for one in slices:
        for found in one.ports if one.address_type == "IPv4" else ():
            if (found.name, found.protocol) != (port.name, port.protocol) or not found.port:
                continue
            for endpoint in one.endpoints:
                place = (endpoint.addresses[0], found.port)
                conditions = endpoint.conditions
                if not IPv4Address(place[0]).is_loopback:
                    continue
                if conditions.ready is not False:
                    ready.add(place)
                elif conditions.serving and conditions.terminating:
                    serving.add(place)
    return sorted(ready or serving)
