"""In which states controllers are when something happens to them: what coverage is counted by."""

from collections.abc import Iterable, Iterator

from isthmus.apps.controller.run import Controller
from tests.sim.scene import Scene

# Of a controller of the source, how far it is with leading; and how far one of its links is.
ROLES = ("gone", "starting", "following", "leading", "writing")
LINKS = ("no link", "connecting", "unarmed", "live", "stale", "held", "ending")


def of(scene: Scene) -> Iterator[str]:
    """Yield the states of the source's controllers, each said as a role and a link."""
    for slot in scene.slots.values():
        if slot.cluster != "east":
            continue
        if slot.replica is None or slot.replica.is_over:
            yield "gone"
            continue
        controller = slot.replica.controller
        role = _role(controller)
        if role == "starting":
            yield role
            continue
        links = {_link(controller, uid) for uid in controller.state.targets} or {"no link"}
        for link in sorted(links):
            yield f"{role}, {link}"


def count(scene: Scene, fault: str, found: Iterable[str] | None = None) -> None:
    """Note that a fault has happened, and what it met: ``found``, or whatever is so now."""
    scene.injected[fault] += 1
    for state in of(scene) if found is None else found:
        scene.pairs[fault, state] += 1


def every() -> list[str]:
    """All states there are."""
    return ["gone", "starting", *(f"{role}, {link}" for role in ROLES[2:] for link in LINKS)]


def _role(controller: Controller) -> str:
    if not controller.synced.is_set():
        return "starting"
    if not controller.election.still_leading():
        return "following"
    return "writing" if controller.queue.depth + controller.queue.held else "leading"


def _link(controller: Controller, uid: str) -> str:
    target = controller.state.targets[uid]
    if target.is_ending:
        return "ending"
    if target.guard.holds or target.kept:
        return "held"
    if not target.is_synced:
        return "connecting"
    if not target.is_armed:
        return "unarmed"
    return "live" if target.contact.is_live else "stale"
