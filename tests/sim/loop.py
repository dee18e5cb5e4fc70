"""An event loop for simulations: time jumps, the order of what is ready is a matter of dice, and
processes can stand still.

Everything that could differ between two runs of the same dice is taken out: tasks have a hash of
their own (sets of them are walked in the same order each time), and no socket is ever looked at.
"""

import asyncio
import heapq
from asyncio import Handle, TimerHandle
from collections import deque
from collections.abc import Coroutine, Generator
from contextvars import Context, ContextVar
from itertools import count
from random import Random
from typing import Any, TypeVar

from tests.support.virtual import Deadlock

T = TypeVar("T")

# Which process a piece of work belongs to; empty for the world that they live in.
PROCESS: ContextVar[str] = ContextVar("process", default="")

AT_ONCE = 50_000  # turns without a tick of the clock: more than any honest work needs


class Spinning(Exception):
    """Virtual time stands still while the processor does not."""


class NumberedTask(asyncio.Task[T]):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
        number: int,
    ) -> None:
        self._number = number  # first: a task is put into a set while it is made
        super().__init__(coro, loop=loop, context=context)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimLoop(asyncio.SelectorEventLoop):
    """For code without sockets and threads."""

    _ready: deque[Handle]
    _scheduled: list[TimerHandle]
    _stopping: bool
    _timer_cancelled_count: int

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._now = 0.0
        self._dice = random
        self._numbers = count()
        self._paused: dict[str, list[Handle]] = {}
        self._turns = 0
        self.set_task_factory(self._made)

    def time(self) -> float:
        return self._now

    def pause(self, process: str) -> None:
        """Let a process stand still: nothing of it runs until it is resumed."""
        self._paused.setdefault(process, [])

    def resume(self, process: str) -> None:
        self._ready.extend(self._paused.pop(process, ()))

    def is_paused(self, process: str) -> bool:
        return process in self._paused

    def _made(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        assert isinstance(coro, Coroutine)
        return NumberedTask(coro, loop, context, next(self._numbers))

    def _run_once(self) -> None:
        """Run everything that is ready, in no order that anybody planned."""
        self._drop_cancelled()
        if not self._ready and not self._stopping:
            if not self._scheduled:
                raise Deadlock("every task waits and no timer is set")
            self._tick(self._scheduled[0].when())
        while self._scheduled and self._scheduled[0].when() <= self._now:
            timer = heapq.heappop(self._scheduled)
            _taken_out(timer)
            self._ready.append(timer)
        turn = list(self._ready)
        self._ready.clear()
        if len(turn) > 1:
            self._dice.shuffle(turn)
        self._turns += len(turn)
        if self._turns > AT_ONCE:
            raise Spinning(f"{self._turns} turns at {self._now:.3f} s: something spins")
        for handle in turn:
            if not handle.cancelled() and not self._is_frozen(handle):
                handle._run()

    def _is_frozen(self, handle: Handle) -> bool:
        if not self._paused:
            return False
        frozen = self._paused.get(vars_of(handle).get(PROCESS, ""))
        if frozen is None:
            return False
        frozen.append(handle)
        return True

    def _tick(self, when: float) -> None:
        if when > self._now:
            self._now = when
            self._turns = 0

    def _drop_cancelled(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            self._timer_cancelled_count -= 1
            _taken_out(heapq.heappop(self._scheduled))
        if self._timer_cancelled_count > 100 and 2 * self._timer_cancelled_count > len(
            self._scheduled
        ):
            for timer in self._scheduled:
                if timer.cancelled():
                    _taken_out(timer)
            self._scheduled = [one for one in self._scheduled if not one.cancelled()]
            heapq.heapify(self._scheduled)
            self._timer_cancelled_count = 0


def vars_of(handle: Handle) -> Context:
    found: Context = handle._context  # type: ignore[attr-defined]
    return found


def _taken_out(timer: TimerHandle) -> None:
    """Let the timer know that it is not in the heap any more; cancelling it counts on that."""
    timer._scheduled = False  # type: ignore[attr-defined]
