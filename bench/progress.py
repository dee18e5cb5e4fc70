"""Shows that something is going on: a bar for a person, a line now and then for a log."""

import sys
import time

WIDTH = 30
EVERY = 10.0  # seconds between two lines where there is no terminal


class Progress:
    """How far one piece of work has got."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._started = self._shown = time.monotonic()
        self._bar = sys.stderr.isatty()
        if not self._bar:
            print(f"{what}: {total}", file=sys.stderr, flush=True)

    def step(self, now: str = "") -> None:
        """Note one more; ``now`` names it."""
        self._done += 1
        moment = time.monotonic()
        last = self._done == self._total
        if self._bar:
            if moment - self._shown >= 0.1 or last or now:
                self._shown = moment
                self._draw(now, last=last)
        elif moment - self._shown >= EVERY or last:
            self._shown = moment
            text = f"{self._what}: {self._done}/{self._total}, {moment - self._started:.0f} s"
            print(text, file=sys.stderr, flush=True)

    def _draw(self, now: str, *, last: bool) -> None:
        filled = WIDTH * self._done // self._total
        bar = "█" * filled + "░" * (WIDTH - filled)
        text = f"\r\x1b[2K{self._what} {bar} {self._done}/{self._total} {now}"
        print(text, end="\n" if last else "", file=sys.stderr, flush=True)
