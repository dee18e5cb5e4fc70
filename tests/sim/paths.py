"""The way from one process to one cluster's API: each takes time, breaks and lies by itself."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random

from msgspec.structs import replace

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect, Faults, Serve
from isthmus.embedded.fronts.inprocess import InProcess, Reply
from isthmus.embedded.state.store import Store
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request, Response
from tests.sim import leases
from tests.sim.loop import PROCESS
from tests.sim.places import Site

# Who does what is done now: a process, a user, or nobody in particular.
ACTOR: ContextVar[str] = ContextVar("actor", default="")
# Who led when the request was sent that is being carried out.
LED: ContextVar[str] = ContextVar("led", default="")

_WHO = "authorization"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(slots=True)
class Weather:
    """How long things take: mostly no time at all, sometimes a second."""

    dice: Random

    def delay(self) -> float:
        mood = self.dice.random()
        if mood < 0.75:
            return 0.001 + 0.004 * self.dice.random()
        return self.dice.random() * (0.05 if mood < 0.97 else 1.0)


@dataclass(slots=True)
class Path:
    """Implements ``kube.transport.Transport``. ``site`` is asked anew each time, because another
    cluster may have come to stand at the same address."""

    process: str
    where: str
    site: Callable[[], Site]
    weather: Weather
    sent: Callable[["Path", Request], Awaitable[None]]
    answered: Callable[["Path", Request], Awaitable[None]]
    is_admitted: Callable[[Request], bool]
    token: str = ""  # of the process itself; a request may bring another
    is_gone: bool = False
    is_refused: bool = False
    emptied: int = 0  # lists that came out empty although there was something
    cut: asyncio.Event | None = None  # set when a line that is dead comes to life again
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self._serve, Store())  # the cluster's own store is not its to break

    def break_off(self) -> None:
        """Let the line be dead: what is sent does not arrive, and nobody says so."""
        self.cut = self.cut or asyncio.Event()

    @property
    def is_troubled(self) -> bool:
        """Whether anything is, or is yet to be, wrong with it."""
        waiting = any(rule.times != 0 for rule in self.faults._rules)
        return waiting or self.is_refused or self.cut is not None

    def heal(self) -> None:
        self.is_refused = False
        if self.cut is not None:
            self.cut.set()
            self.cut = None

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        ACTOR.set(self.process)
        await self._travel()
        await self.sent(self, request)
        async with AsyncExitStack() as stack:
            inner = InProcess(self.faults, self.token)
            reply = await stack.enter_async_context(inner.send(request))
            await self.answered(self, request)
            await self._travel()
            chunks = await stack.enter_async_context(aclosing(self._brought(reply.chunks())))
            yield Reply(reply.status, reply.headers, chunks)

    async def close(self) -> None:
        pass

    async def _travel(self) -> None:
        if self.is_gone:
            raise Unreachable("the process is gone")
        if self.is_refused:
            raise Unreachable("connection refused")
        await asyncio.sleep(self.weather.delay())
        while self.cut is not None:
            await self.cut.wait()
        if self.is_gone:
            raise Unreachable("the process is gone")

    async def _brought(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for chunk in chunks:
            await self._travel()
            yield chunk

    async def _serve(self, request: Request, as_of: int | None = None) -> Answer:
        if not self.is_admitted(request):
            return await effects.failing(401)(request, self._serve)
        answer = leases.serve(self.site(), request)
        if answer is not None:
            return answer
        cluster = self.site().cluster
        # Whoever may come in comes in as the administrator: rights are not what is tried here.
        shown = {name: one for name, one in request.headers.items() if name.lower() != _WHO}
        headers = {**shown, _WHO: f"Bearer {cluster.admin_token}"}
        asked = replace(request, headers=headers)
        return await cluster.api.handle(asked, as_of)


def noted(effect: Effect, happens: Callable[[], None]) -> Effect:
    """The same effect, which tells of every request that it meets: a rule that none comes by, or
    only after another has answered it, is no fault."""

    async def effects_and_tells(request: Request, serve: Serve) -> Answer:
        happens()
        return await effect(request, serve)

    return effects_and_tells


def late(seconds: float, keep: Callable[[asyncio.Task[None]], None]) -> Effect:
    """The connection breaks at once, and the request is carried out all the same, later."""

    async def effect(request: Request, serve: Serve) -> Answer:
        async def arrive() -> None:
            PROCESS.set("")  # the network goes on when the process that has sent it does not
            await asyncio.sleep(seconds)
            await (await serve(request)).close()

        keep(asyncio.get_running_loop().create_task(arrive()))
        raise Unreachable("connection reset")

    return effect


def lagging(revision: int) -> Effect:
    """A replica of the API server answers that lags behind: it shows the past in its watches, and
    to whoever says that any version will do. A consistent read it passes on."""

    async def effect(request: Request, serve: Serve) -> Answer:
        query = dict(request.query)
        if query.get("watch") or query.get("resourceVersion") == "0":
            return await serve(request, revision)
        return await serve(request)

    return effect
