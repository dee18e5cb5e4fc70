"""What probes have measured, for the metrics: kept for as long as the link lives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # milliseconds


@dataclass(slots=True)
class Probed:
    """The probes of one gateway."""

    answered: int = 0
    unanswered: int = 0
    latency: float = 0.0  # of the last one that was answered, in milliseconds
    total: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    is_silent: bool = False  # whether the last one was not answered

    def note(self, seconds: float | None) -> None:
        self.is_silent = seconds is None
        if seconds is None:
            self.unanswered += 1
            return
        self.answered += 1
        self.latency = seconds * 1000
        self.total += self.latency
        for index, limit in enumerate(BUCKETS):
            self.buckets[index] += self.latency <= limit


class Probes:
    """The probes of all gateways, by the name of their cluster; ``returned`` hears of those that
    answer again."""

    def __init__(self, returned: Callable[[str], None]) -> None:
        self._returned = returned
        self._probed: dict[str, Probed] = {}

    @property
    def probed(self) -> Mapping[str, Probed]:
        return self._probed

    def note(self, cluster: str, seconds: float | None) -> None:
        """Take in a probe and how long its answer took; None if there was none."""
        probed = self._probed.setdefault(cluster, Probed())
        was_silent = probed.is_silent
        probed.note(seconds)
        if was_silent and not probed.is_silent:
            self._returned(cluster)

    def forget(self, cluster: str) -> None:
        self._probed.pop(cluster, None)
