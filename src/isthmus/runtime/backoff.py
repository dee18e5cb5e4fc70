"""How long to wait after a failure: longer each time, never in step with anybody else."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential waits with full jitter.

    Full jitter, a wait anywhere between nothing and the ceiling, spreads the clients of a
    server that has just come back better than a jitter around the ceiling does.
    """

    first: float
    cap: float
    factor: float = 2.0

    def ceiling(self, failures: int) -> float:
        """Return the longest wait after so many failures in a row, the first being 1."""
        ceiling = self.first
        for _ in range(failures - 1):
            if ceiling >= self.cap:
                break
            ceiling *= self.factor
        return min(ceiling, self.cap)

    def wait(self, failures: int, random: Random) -> float:
        """Return how long to wait after so many failures in a row."""
        return random.uniform(0, self.ceiling(failures))


class Retries:
    """The failures in a row of one loop."""

    def __init__(self, backoff: Backoff, random: Random) -> None:
        self._backoff = backoff
        self._random = random
        self._failures = 0

    def failed(self) -> float:
        """Count a failure and return how long to wait after it."""
        self._failures += 1
        return self._backoff.wait(self._failures, self._random)

    def reset(self) -> None:
        """Forget the failures, because something has worked."""
        self._failures = 0
