"""What follows from a write: the work of Kubernetes' controllers that the API's users rely on.

A real cluster does all this a moment later. Here it is done before the write is answered, so
that tests need not wait and a simulation repeats exactly.
"""

from isthmus.embedded.consequences import definitions, garbage, namespaces
from isthmus.embedded.state.plane import Plane

_REACTIONS = (definitions.react, namespaces.react, garbage.react)


def settle(plane: Plane) -> None:
    """Do what the writes since the last time call for, and what that calls for in turn."""
    while plane.agenda.events:
        event = plane.agenda.events.popleft()
        for react in _REACTIONS:
            react(plane, event)
