"""How soon what is large may be written again.

A headless mirror names the cluster IPs of its pods' mirrors, which come one after the other. If it
were written for each of them, a slice with a thousand endpoints would go hundreds of times through
the API server, and from there to every node.
"""

from isthmus.model.objects import Key
from isthmus.runtime.clock import Clock

EACH = 0.001  # seconds of rest for an endpoint that was written
SHORTEST = 0.1  # seconds that are worth a rest: a hundred endpoints


class Pacing:
    """Knows for how long names rest that had much to write; whatever is small never does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[Key, float] = {}

    def wrote(self, name: Key, endpoints: int) -> None:
        rest = endpoints * EACH
        if rest > SHORTEST:
            self._until[name] = self._clock.now() + rest

    def left(self, name: Key) -> float:
        """Return for how long ``name`` is not to be written again; 0 if it may be."""
        if name not in self._until:
            return 0.0
        left = self._until[name] - self._clock.now()
        if left > 0:
            return left
        del self._until[name]
        return 0.0
