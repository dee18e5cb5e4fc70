"""Asks each gateway whether it is there, and keeps the addresses of those that have names."""

import asyncio
import logging

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.mirroring.probes import Probes
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.apps.controller.outside import Outside
from isthmus.catalogue.errors import NoIdentity
from isthmus.catalogue.following import Door
from isthmus.core import health
from isthmus.core.health import Health
from isthmus.model.errors import IsthmusError
from isthmus.model.links import Gateway
from isthmus.model.syntax import is_port
from isthmus.model.times import seconds

log = logging.getLogger(__name__)

PERIOD, PATIENCE = 3.0, 5.0  # seconds, where the link says nothing that makes sense
JITTER = 0.1  # of the period
RESOLVE_EVERY = 30.0  # seconds; getaddrinfo(3) does not tell how long an answer is good for
RESOLVE_AGAIN = 3.0  # as long as there was none
MOST_ADDRESSES = 32  # of one name; each is in the slices of every mirror
KEEP = 600.0  # seconds for which the last good answer outlives a resolver that fails


class Prober:
    """Probes the gateway of one link, for ever."""

    def __init__(
        self,
        target: Target,
        state: State,
        outside: Outside,
        config: Config,
        probes: Probes,
    ) -> None:
        self._target = target
        self._state = state
        self._outside = outside
        self._config = config
        self._probes = probes
        self._health = Health(alive=target.gateway_alive)
        self._good: dict[str, tuple[float, tuple[str, ...]]] = {}  # by host: when, and what
        self._asked: dict[str, float] = {}
        self._wrong = ""  # what the last probe has found, as it was logged

    async def run(self) -> None:
        while True:
            gateway = self._target.link.spec.gateway
            found = await self._addresses(gateway)
            addresses = None if found is None else self._allowed(found)
            if addresses and is_port(gateway.port):
                await self._probe(addresses, gateway.port)
            period = _seconds(self._target.link.spec.probe.period, PERIOD)
            await self._outside.clock.sleep(period * (1 + JITTER * self._outside.random.random()))

    async def _probe(self, addresses: tuple[str, ...], port: int) -> None:
        clock, spec = self._outside.clock, self._target.link.spec.probe
        began = clock.now()
        answered = await self._is_answered(addresses, port, _seconds(spec.timeout, PATIENCE))
        now = clock.now()
        if answered:
            self._health = health.succeeded(self._health, now)
        else:
            self._health = health.failed(self._health, spec.failure_threshold, now)
        self._probes.note(self._target.link.cluster, now - began if answered else None)
        self._state.probed(self._target.uid, self._health.alive, self._health.known)

    async def _is_answered(self, addresses: tuple[str, ...], port: int, patience: float) -> bool:
        """Tell whether the gateway answers at any of the addresses."""
        wrong, door = "", Door(cluster=self._target.link.cluster, addresses=addresses, port=port)
        for address in addresses:
            try:
                async with asyncio.timeout(patience):
                    await self._knock(door, address)
            except (IsthmusError, OSError) as error:  # a timeout is one of the latter
                wrong = str(error) or f"{address}: no answer within {patience:g} s"
                continue
            self._wrong = ""
            return True
        if wrong != self._wrong:
            self._wrong = wrong
            extra = {"link": self._target.link.cluster, "error": wrong}
            log.info("the gateway does not answer", extra=extra)
        return False

    async def _knock(self, door: Door, address: str) -> None:
        """Ask our own kind of gateway for a page, under mutual TLS. Of another's, and as long as we
        have no certificate to show, there is no more to learn than whether somebody is there."""
        if self._target.link.spec.data_plane == "envoy":
            try:
                await self._outside.knock(door, address)
            except NoIdentity:
                pass
            else:
                return
        await self._outside.network.touch(address, door.port)

    def _allowed(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """Pass on the addresses at which a gateway can be, and what is wrong with the others."""
        why = {one: self._refusal(one) for one in found}
        allowed = tuple(one for one, reason in why.items() if reason is None)
        refused = tuple(f"{one[:253]}: {reason}" for one, reason in why.items() if reason)
        self._state.resolved(self._target.uid, allowed, refused)
        return allowed

    def _refusal(self, host: str) -> str | None:
        return self._state.local.refusal(host, self._target.link.spec, self._config)

    async def _addresses(self, gateway: Gateway) -> tuple[str, ...] | None:
        """Return where the gateway is said to be; None as long as nobody knows."""
        found: set[str] = set()
        unknown = False
        for host in gateway.addresses:
            known = await self._resolved(host)
            unknown = unknown or known is None
            found |= set(known or ())
        if unknown and not found:
            return None
        return tuple(sorted(found))

    async def _resolved(self, host: str) -> tuple[str, ...] | None:
        if _is_address(host) or self._refusal(host) is not None:
            return (host,)
        now = self._outside.clock.now()
        every = RESOLVE_EVERY if host in self._good else RESOLVE_AGAIN
        if now - self._asked.get(host, -every) >= every:
            self._asked[host] = now
            await self._ask(host, now)
        when, last = self._good.get(host, (now, None))
        return () if last is not None and now - when >= KEEP else last

    async def _ask(self, host: str, now: float) -> None:
        try:
            async with asyncio.timeout(_seconds(self._target.link.spec.probe.timeout, PATIENCE)):
                answer = await self._outside.network.resolve(host)
        except OSError as error:
            extra = {"link": self._target.link.cluster, "host": host, "error": str(error)}
            log.info("gateway's name not resolved", extra=extra)
            return
        if any(self._refusal(one) is None for one in answer):
            self._good[host] = (now, answer[:MOST_ADDRESSES])


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _seconds(text: str, otherwise: float) -> float:
    """Read a duration that the API server has checked, unless its schema is older than we are."""
    try:
        found = seconds(text)
    except ValueError:
        return otherwise
    return found if 0.1 <= found <= 3600 else otherwise
