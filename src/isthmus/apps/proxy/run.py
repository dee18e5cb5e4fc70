"""A proxy, put together: read this first.

A keeper obtains a certificate and keeps it fresh; then an Envoy is started that uses it, asks the
controller for everything else, and is drained when all of this is to end.
"""

import asyncio
import logging
import socket
from contextlib import suppress
from random import Random

from isthmus.apps.proxy.asking import Controller
from isthmus.apps.proxy.config import Config
from isthmus.apps.proxy.files import Files
from isthmus.apps.proxy.keeper import Keeper
from isthmus.apps.proxy.memory import heap
from isthmus.envoy.bootstrap import Proxy
from isthmus.envoy.process import CannotStart, Envoy, Options
from isthmus.runtime.clock import Clock

log = logging.getLogger(__name__)

FAREWELL = 2.0  # seconds


async def run(config: Config, clock: Clock, stop: asyncio.Event) -> None:
    """Run a proxy until ``stop`` is set."""
    name = config.name or socket.gethostname()
    log.info("starting", extra={"role": config.role, "proxy": name})
    files = Files(config.directory)
    files.prepare()
    envoy = _envoy(config, name, clock)
    signer = Controller(config.controller, config.controller_identity, config.token_file, name)
    keeper = Keeper(config.identity, signer, config.trust_file, files, clock)
    failure: CannotStart | None = None
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(keeper.run())
            if await _first(keeper.ready, stop) is keeper.ready:
                try:
                    await envoy.run(stop)
                except CannotStart as error:
                    failure = error
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL), keeper.quiet:
                    pass  # no controller is left in the midst of a word
            keeping.cancel()
    finally:
        files.remove()
    if failure is not None:
        raise failure  # outside of the group, which would hide it in another error
    log.info("stopped")


def _envoy(config: Config, name: str, clock: Clock) -> Envoy:
    proxy = Proxy(
        name=name,
        role=config.role,
        cluster=config.cluster_name,
        controller=config.ads,
        controller_identity=str(config.controller_identity),
        address=config.address,
        metrics=config.metrics,
        heap=heap(),
    )
    options = Options(
        directory=config.directory,
        concurrency=config.concurrency,
        drain=config.drain,
        linger=config.linger,
    )
    return Envoy(proxy, options, clock, Random())


async def _first(*events: asyncio.Event) -> asyncio.Event:
    """Return the event that is set first."""
    waiting = {asyncio.create_task(each.wait()): each for each in events}
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
    return waiting[done.pop()]
