"""Follows the catalogue of one target, and keeps the state in step with it.

A connection that ends is no news: the next one begins with everything, which is compared with what
was known. Only when no connection can be had does the link say so, and nothing else follows.
"""

import asyncio
import logging
import math
from collections import Counter
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import assert_never

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.linking.meeting import identify, outcome
from isthmus.apps.controller.linking.second import is_confirmed, look_twice
from isthmus.apps.controller.mirroring.remote import Catalogued
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Contact
from isthmus.apps.controller.outside import Outside
from isthmus.catalogue.errors import Forbidden
from isthmus.catalogue.following import Door, follow, snapshot
from isthmus.catalogue.messages import Alive, Hello
from isthmus.catalogue.reader import Changed, Heard, Reader, Snapshot
from isthmus.core.dusk import Held
from isthmus.model.errors import IsthmusError, Transient
from isthmus.model.links import Gateway
from isthmus.model.objects import Key
from isthmus.runtime.backoff import Backoff, Retries
from isthmus.runtime.cache import Gone, Listed, Put
from isthmus.runtime.workqueue import Lane

log = logging.getLogger(__name__)

BACKOFF = Backoff(first=1.0, cap=60.0)
# Whoever writes a Grant looks whether it works, and being refused costs both sides one handshake;
# to have no address costs nothing.
SOON = 3.0  # seconds until the next try, after being refused before anything was said
HEALTHY = 5.0  # seconds after a snapshot that make failures before it forgotten
STEADY = 5.0  # seconds after which one is worth a word, if the last word was about trouble
RESOLVING = 10.0  # seconds for the gateway's names to be resolved before that is worth a word
CONNECTED = Contact(True, "Connected", is_live=True)


class NoAddress(Transient):
    """There is no address of the gateway that we could connect to."""


class Following:
    """The session of one link that reads a catalogue; ends only by being cancelled."""

    def __init__(self, uid: str, state: State, outside: Outside, config: Config) -> None:
        self.answers: Counter[tuple[str, str, str]] = Counter()  # of API servers: nobody is asked
        self.divergences = 0  # likewise
        self._uid = uid
        self._target = state.targets[uid]
        self._state = state
        self._outside = outside
        self._config = config
        self._remote = Catalogued()
        self._followed: tuple[str, Gateway] | None = None  # what the connection leads to
        self._tried = self._wanted  # by the last attempt
        self._heard_at = math.inf  # when it has brought a snapshot
        self._connection: asyncio.Timeout | None = None
        self._since = outside.clock.now()
        self._steady_at = 0.0
        self._said = ""  # why it was not followed, as it was logged last
        self._is_denied = False  # whether the last connection was refused for want of a Grant
        self._hurried = asyncio.Event()  # set between a word that the gateway is back and a try

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(
                look_twice(self._state, self._target, self._outside, self._is_confirmed)
            )
            group.create_task(self._keep_following())

    def refresh(self) -> None:
        """Take in that the link may be another, and with it who may be followed, or where."""
        if self._followed is None:
            if self._tried != self._wanted:
                self.hurry()
        elif self._target.rival or self._followed != self._wanted[1:]:
            self._begin_anew()

    @property
    def _wanted(self) -> tuple[str, str, Gateway]:
        """What decides whether somebody can be followed, and who."""
        target = self._target
        return target.rival, target.pinned, target.link.spec.gateway

    def hurry(self) -> None:
        """Take in that the gateway answers again, so that waiting has no more sense."""
        self._hurried.set()

    async def _keep_following(self) -> None:
        clock, retries = self._outside.clock, Retries(BACKOFF, self._outside.random)
        while True:
            began, is_back = clock.now(), self._hurried.is_set()
            self._heard_at, self._tried = math.inf, self._wanted
            self._hurried.clear()
            if is_back:
                retries.reset()
            if self._target.contact.connected is False:
                # That the trouble is over somebody else has seen, too, if the gateway is back; and
                # a Grant does not come and go by itself.
                self._steady_at = began if is_back or self._is_denied else began + STEADY
            self._is_denied = False
            try:
                await self._follow()
            except IsthmusError as error:
                self._fail(error)
                if self._is_denied or isinstance(error, NoAddress):
                    await self._rest(self._outside.random.uniform(SOON / 2, SOON))
                    continue
            if clock.now() - self._heard_at >= HEALTHY:
                retries.reset()
            await self._rest(retries.failed())

    async def _rest(self, seconds: float) -> None:
        """Wait before the next try, but not for longer than the gateway is away."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurried.wait()

    async def _follow(self) -> None:
        """Follow the catalogue over one connection."""
        reader = Reader(self._target.link.cluster, self._config.mesh_domain)
        try:
            async with asyncio.timeout(None) as self._connection:
                async with (
                    self._outside.catalogue(self._door()) as chunks,
                    aclosing(follow(chunks, reader)) as heard,
                ):
                    async for one in heard:
                        self._hear(one)
        except Forbidden:
            self._is_denied = self._followed is None
            raise
        except TimeoutError:
            pass  # another connection is wanted
        finally:
            self._connection = self._followed = None

    def _begin_anew(self) -> None:
        if self._connection is not None and not self._connection.expired():
            self._connection.reschedule(asyncio.get_running_loop().time())

    def _hear(self, heard: Heard) -> None:
        match heard:
            case Hello(uid=uid, cluster_domain=domain):
                identify(self._state, self._target, uid)
                self._followed = (uid, self._target.link.spec.gateway)
                self._state.place(self._uid, domain)
            case Snapshot(offers):
                self._said = ""
                self._heard_at = self._outside.clock.now()
                keys = self._remote.fold(Listed(tuple(offers.values())))
                self._pass_on(keys, Lane.BULK)
                self._praise()
            case Changed(key, offer):
                event = Gone(key) if offer is None else Put(offer)
                self._pass_on(self._remote.fold(event), Lane.SINGLE)
            case Alive():
                self._praise()
            case _:
                assert_never(heard)

    def _praise(self) -> None:
        """Say that the catalogue is followed; after trouble, not before it has lasted a while,
        lest a connection that breaks again and again be news each time."""
        if self._is_adopted and self._outside.clock.now() >= self._steady_at:
            self._state.meet(self._uid, CONNECTED)

    def _pass_on(self, keys: set[Key], lane: Lane) -> None:
        if self._is_adopted:
            self._state.exported(self._uid, self._remote, keys, lane)
        else:
            self._state.adopt(self._uid, self._remote)

    @property
    def _is_adopted(self) -> bool:
        return self._target.remote is self._remote

    def _door(self) -> Door:
        target = self._target
        if not target.gateway_addresses:
            raise NoAddress(f"link {target.link.cluster}: its gateway has no usable address")
        return Door(
            cluster=target.link.cluster,
            addresses=target.gateway_addresses,
            port=target.link.spec.gateway.port,
        )

    def _fail(self, error: IsthmusError) -> None:
        if str(error) != self._said:  # a link that is denied asks every few seconds, for ever
            self._said = str(error)
            extra = {"link": self._target.link.cluster, "error": str(error)}
            log.info("catalogue not followed", extra=extra)
        named = bool(self._target.link.spec.gateway.addresses)
        waited = self._outside.clock.now() - self._since
        if isinstance(error, NoAddress) and named and waited < RESOLVING:
            return
        self._state.meet(self._uid, replace(outcome(error), is_live=False))

    async def _is_confirmed(self, held: Held) -> bool:
        """Tell whether the catalogue, over another connection, says the same once more."""
        link = self._target.link
        try:
            reader = Reader(link.cluster, self._config.mesh_domain)
            async with self._outside.catalogue(self._door()) as chunks:
                hello, read = await snapshot(chunks, reader)
            identify(self._state, self._target, hello.uid)
        except IsthmusError as error:
            log.info("no second opinion", extra={"link": link.cluster, "error": str(error)})
            return False
        remote = Catalogued()
        remote.fold(Listed(tuple(read.offers.values())))
        agreed = is_confirmed(held, remote, link)
        if not agreed:
            self._begin_anew()  # one of the two is wrong; a third will tell which
        return agreed
