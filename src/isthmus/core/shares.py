"""How many of its named pods each headless export may have mirrored when not all can be.

Every one of them takes a Service here, and a set can have as many as its owner likes. All sets get
the same number then, so that one that grows takes nothing from those that are smaller.
"""

from collections import Counter
from collections.abc import Iterator

from isthmus.model.exports import NamedPod
from isthmus.model.objects import Key


class Shares:
    """Keeps the greatest ``level`` at which all sets, none with more pods than that, fit.

    It moves by steps as sets come, go and change; the work is that of the change.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._sizes: dict[Key, int] = {}
        self._of_size: Counter[int] = Counter()
        self._used = 0
        self._above = 0  # sets that have more pods than the level
        self.level = room

    def put(self, key: Key, size: int) -> None:
        """Note how many pods a set has, 0 if it is gone."""
        before = self._sizes.get(key, 0)
        if before == size:
            return
        if before:
            del self._sizes[key]
            self._note(before, -1)
        if size:
            self._sizes[key] = size
            self._note(size, 1)
        self._sink()
        self._rise()

    def over(self, level: int) -> Iterator[Key]:
        """Iterate over the sets that have more pods than ``level``."""
        return (key for key, size in self._sizes.items() if size > level)

    def left_out(self) -> dict[Key, int]:
        """Return the sets of which not all pods are mirrored, with how many are not."""
        if not self._above:
            return {}
        return {key: self._sizes[key] - self.level for key in self.over(self.level)}

    def _note(self, size: int, by: int) -> None:
        self._of_size[size] += by
        if not self._of_size[size]:
            del self._of_size[size]
        self._used += by * min(size, self.level)
        self._above += by * (size > self.level)

    def _sink(self) -> None:
        if self._used > self._room and not self._above:
            self.level = max(self._of_size)  # nothing lies between: it is the same without steps
        while self._used > self._room:
            self._above += self._of_size[self.level]
            self._used -= self._above
            self.level -= 1

    def _rise(self) -> None:
        while self._above and self._used + self._above <= self._room:
            self.level += 1
            self._used += self._above
            self._above -= self._of_size[self.level]
        if not self._above:
            self.level = self._room


def lowest(pods: tuple[NamedPod, ...], count: int) -> tuple[NamedPod, ...]:
    """Return the first ``count`` pods as people count: db-2 comes before db-10."""
    ordered = sorted(pods, key=lambda pod: (len(pod.hostname), pod.hostname))
    return tuple(sorted(ordered[:count], key=lambda pod: pod.hostname))
