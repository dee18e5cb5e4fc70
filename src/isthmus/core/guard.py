"""Hold a mass deletion until the target has said the same thing twice.

A list can be wrong in ways that no status code shows: an API server that starts empty, a
restored backup, a proxy that answers for it. One such list must not take down what it lacks.
"""

from collections.abc import Set
from dataclasses import dataclass, field

from isthmus.model.objects import Key

ALWAYS_ALLOWED = 5
SHARE = 0.2  # of a link's mirrors


@dataclass(frozen=True, slots=True)
class Guard:
    """What is held, and the complete list that asked for it first."""

    held: Set[Key] = field(default_factory=frozenset)
    asked_by: int = -1

    @property
    def holds(self) -> bool:
        return bool(self.held)


def judge(guard: Guard, mirrors: int, orphans: Set[Key], listing: int) -> Guard:
    """Decide about deleting ``orphans``, ``mirrors`` being all that the link has.

    ``listing`` numbers the complete lists of the target: only a later one can confirm what an
    earlier one said, and only for what that one said.
    """
    if len(orphans) <= max(ALWAYS_ALLOWED, SHARE * mirrors):
        return Guard()
    if listing > guard.asked_by and guard.holds and orphans <= guard.held:
        return Guard()
    if guard.holds and orphans == guard.held:
        return guard
    return Guard(frozenset(orphans), listing)
