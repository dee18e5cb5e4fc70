"""An event loop whose clock jumps: an hour of backoff takes no time, a deadlock fails at once."""

import asyncio
import selectors


class Deadlock(RuntimeError):
    """Every task waits and no timer is set, so nothing can ever happen again."""


class JumpingSelector(selectors.DefaultSelector):
    """Instead of sleeping until the next timer, move the clock there."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Deadlock("every task waits and no timer is set")
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code without sockets and threads; nothing outside this process can wake it."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now
