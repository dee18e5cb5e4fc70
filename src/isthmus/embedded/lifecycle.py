"""What follows from a write: the work of Kubernetes' controllers that the API's users rely on."""

from isthmus.embedded.plane import Plane


def settle(plane: Plane) -> None:
    """Do what the writes since the last time call for, and what that calls for in turn."""
    plane.agenda.events.clear()
