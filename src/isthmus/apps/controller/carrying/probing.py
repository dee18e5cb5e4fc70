"""Tries, because somebody asks, whether calls would pass: at a link's gateways, as this controller,
and at the listeners of the egress for a mirror.

Whoever asks again at once is told the same: nobody can make a controller knock at doors all day.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeVar

from msgspec.structs import replace

from isthmus.apps.controller.carrying.plane import DataPlane
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.apps.controller.outside import Outside
from isthmus.catalogue.following import Door
from isthmus.model.addresses import meant
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.pages import Attempt, Probe, Resolved
from isthmus.model.quoting import one_line

T = TypeVar("T")

REST = 2.0  # seconds for which an answer is given again
AT_ONCE = 4  # links or mirrors that are tried
PATIENCE = 3.0  # seconds for one place; all are tried at once
MOST_PLACES = 16
MOST_KEPT = 1000  # answers
LONGEST = 300  # characters of what went wrong


class Probing:
    """Tries gateways and listeners, a few at a time."""

    def __init__(self, state: State, plane: DataPlane, outside: Outside) -> None:
        self._state = state
        self._plane = plane
        self._outside = outside
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._known: dict[str, tuple[float, Probe]] = {}

    async def link(self, name: str) -> Probe | None:
        """Try the gateways of a link; None if there is no such link."""
        found = [one for one in self._state.targets.values() if one.link.cluster == name]
        if not found:
            return None
        return await self._once(f"link {name}", lambda: self._gateways(found[0]))

    async def mirror(self, key: Key) -> Probe | None:
        """Try where the egress listens for a mirror; None if it does not for any of that name."""
        listeners = [one.listener for one in self._plane.carrying.outbound.get(key, ())]
        if not listeners:
            return None
        places = [(one.ip, port) for one in self._state.world().egress for port in listeners]
        return await self._once(f"mirror {key}", lambda: self._listening(key, places))

    async def _once(self, what: str, probe: Callable[[], Awaitable[Probe]]) -> Probe:
        async with self._turns:
            when, known = self._known.get(what, (0.0, None))
            age = self._outside.clock.now() - when
            if known is not None and age < REST:
                return replace(known, age=round(age, 1))
            found = await probe()
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[what] = (self._outside.clock.now(), found)
            return found

    async def _gateways(self, target: Target) -> Probe:
        link = target.link
        door = Door(
            cluster=link.cluster,
            addresses=target.gateway_addresses,
            port=link.spec.gateway.port,
        )
        names = [one for one in link.spec.gateway.addresses if meant(one) is None]
        ours = link.spec.data_plane == "envoy"
        dialer = self._plane.dialer

        async def knock(address: str, port: int) -> None:
            if ours:
                await dialer.probe(door, address)
            else:
                await self._outside.network.touch(address, port)

        places = [(one, door.port) for one in door.addresses]
        return Probe(
            of=link.cluster,
            age=0.0,
            identity=self._plane.exporting.own.gateway(link.cluster) if ours else "",
            hosts=await _all(self._resolved(one) for one in names[:MOST_PLACES]),
            attempts=await self._attempts(places, knock),
        )

    async def _listening(self, key: Key, places: list[tuple[str, int]]) -> Probe:
        attempts = await self._attempts(places, self._outside.network.touch)
        return Probe(of=str(key), age=0.0, attempts=attempts)

    async def _attempts(
        self, places: list[tuple[str, int]], knock: Callable[[str, int], Awaitable[None]]
    ) -> tuple[Attempt, ...]:
        return await _all(self._attempt(*one, knock) for one in places[:MOST_PLACES])

    async def _attempt(
        self, address: str, port: int, knock: Callable[[str, int], Awaitable[None]]
    ) -> Attempt:
        began = self._outside.clock.now()
        reason, message = "", ""
        try:
            async with asyncio.timeout(PATIENCE):
                await knock(address, port)
        except IsthmusError as error:
            reason, message = type(error).__name__, str(error)
        except TimeoutError:
            reason, message = "Timeout", f"no answer within {PATIENCE:g} s"
        except OSError as error:
            reason, message = type(error).__name__, _said(error)
        took = self._outside.clock.now() - began
        return Attempt(
            address=address,
            port=port,
            answered=not reason,
            milliseconds=round(1000 * took, 1),
            reason=reason,
            message=one_line(message, LONGEST),
        )

    async def _resolved(self, host: str) -> Resolved:
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._outside.network.resolve(host)
        except TimeoutError:
            return Resolved(host=host, message=f"no answer within {PATIENCE:g} s")
        except OSError as error:
            return Resolved(host=host, message=one_line(error.strerror or str(error), LONGEST))
        return Resolved(host=host, addresses=found[:MOST_PLACES])


async def _all(parts: Iterable[Coroutine[None, None, T]]) -> tuple[T, ...]:
    """Do all of it at once; none of the parts fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in parts]
    return tuple(one.result() for one in tasks)


def _said(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else str(error)
