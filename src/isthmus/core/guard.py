"""Hold a mass deletion until the target has said the same thing twice.

A list can be wrong in ways that no status code shows: an API server that starts empty, a
restored backup, a proxy that answers for it. One such list must not take down what it lacks.
"""

from collections.abc import Set

import msgspec

from isthmus.model.objects import Key

ALWAYS_ALLOWED = 5
SHARE = 0.2  # of a link's mirrors; all of them are never few


class Guard(msgspec.Struct, frozen=True):
    """What is held, the complete list that asked for it, and what may go by now.

    Deleting takes a while: what a second list has confirmed stays allowed until it is gone.
    """

    held: Set[Key] = frozenset()
    asked_by: int = -1
    allowed: Set[Key] = frozenset()

    @property
    def holds(self) -> bool:
        return bool(self.held)


def judge(guard: Guard, mirrors: int, orphans: Set[Key], listing: int) -> Guard:
    """Decide about deleting ``orphans``, ``mirrors`` being all that the link has.

    ``listing`` numbers the complete lists of the target: only a later one can confirm what an
    earlier one said, and only for what that one said. What is held stays so until then, or until it
    is there again: that the rest has become few, because something else is there again, proves
    nothing about it.
    """
    said_twice: Set[Key] = guard.held if listing > guard.asked_by else frozenset()
    allowed = (guard.allowed | said_twice) & orphans
    doubtful = orphans - allowed
    many = len(doubtful) > max(ALWAYS_ALLOWED, SHARE * mirrors) or len(doubtful) >= mirrors
    if doubtful and (many or doubtful & guard.held):
        return Guard(frozenset(doubtful), listing, allowed)
    return Guard(allowed=allowed)
