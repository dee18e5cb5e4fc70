"""Whether a gateway is alive, from probes: slow to condemn, and slower to trust a flapping one."""

from dataclasses import dataclass, replace

PROOF = 2  # successes in a row that bring a dead gateway back
SHORTEST, LONGEST = 30.0, 300.0  # seconds that a gateway which flaps stays down, doubling
CALM = 300.0  # seconds of health after which earlier trouble is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """``alive`` is what mirrors show; it starts as it was when we last ran.

    ``known`` is None until probes have been conclusive, so that a restart changes nothing.
    """

    alive: bool = True
    known: bool | None = None
    failures: int = 0
    successes: int = 0
    since: float | None = None  # when it last went down or came up, as far as we saw
    penalty: float = 0.0  # seconds that it has to stay down


def succeeded(health: Health, now: float) -> Health:
    """Take in a probe that was answered."""
    seen = replace(health, failures=0, successes=health.successes + 1)
    if seen.alive:
        return replace(seen, known=True)
    rested = seen.since is None or now - seen.since >= seen.penalty
    if seen.successes < PROOF or not rested:
        return seen
    return replace(seen, alive=True, known=True, since=now)


def failed(health: Health, threshold: int, now: float) -> Health:
    """Take in a probe that was not answered; ``threshold`` of them in a row mean death."""
    seen = replace(health, failures=health.failures + 1, successes=0)
    if seen.failures < threshold:
        return seen
    if not seen.alive:
        return replace(seen, known=False)
    return replace(seen, alive=False, known=False, since=now, penalty=_penalty(health, now))


def _penalty(health: Health, now: float) -> float:
    if health.since is None or now - health.since >= CALM:
        return 0.0
    return min(max(SHORTEST, 2 * health.penalty), LONGEST)
