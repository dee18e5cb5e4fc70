"""Carries steps out: what users, administrators, networks and machines do to a scene."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from isthmus.kube.errors import AlreadyExists, Conflict, NotFound, Rejected
from tests.sim import breaking, people, states
from tests.sim.beginning import begin
from tests.sim.scene import Scene
from tests.sim.steps import Step

CALM = frozenset(
    {"begin", "export", "port", "ready", "unready", "scale", "backup", "relink", "namespace back"}
)  # what is no fault


async def act(scene: Scene, step: Step) -> None:
    """Let one step happen; what is impossible by now does not, and is not counted."""
    scene.ledger.say(f"## {step}")
    met = list(states.of(scene))
    if await _happens(scene, step) and step.kind not in CALM:
        states.count(scene, step.kind, met)
    await asyncio.sleep(step.wait)


async def _happens(scene: Scene, step: Step) -> bool:
    """Carry a step out; return whether anything came of it."""
    if step.kind in BREAKING:
        return await BREAKING[step.kind](scene, step)
    before = scene.ledger.by_users
    with suppress(NotFound, AlreadyExists, Conflict, Rejected):
        await PEOPLE[step.kind](scene, step)
    return scene.ledger.by_users > before


PEOPLE: dict[str, Callable[[Scene, Step], Awaitable[None]]] = {
    "begin": begin,
    "export": people.export,
    "unexport": people.unexport,
    "remove": people.remove,
    "recreate": people.recreate,
    "flip": people.flip,
    "port": people.port,
    "ready": people.ready,
    "unready": people.ready,
    "scale": people.scale,
    "mass": people.mass,
    "edit ports": people.edit,
    "edit selector": people.edit,
    "edit labels": people.edit,
    "strip": people.edit,
    "edit slice": people.edit_slice,
    "delete mirror": people.delete_mirror,
    "delete slice": people.delete_slice,
    "take": people.take,
    "squat": people.squat,
    "unsquat": people.unsquat,
    "egress": people.egress,
    "headless": people.respecify,
    "plane": people.respecify,
    "namespace gone": people.namespace_gone,
    "namespace back": people.namespace_back,
    "unlink": people.unlink,
    "relink": people.relink,
    "secret swapped": people.secret,
    "secret gone": people.secret,
    "secret wrong": people.secret,
    "grant none": people.grant,
    "grant shop": people.grant,
}
BREAKING: dict[str, Callable[[Scene, Step], Awaitable[bool]]] = {
    "crash": breaking.crash,
    "crash before": breaking.crash_at,
    "crash after": breaking.crash_at,
    "stop": breaking.stop,
    "pause": breaking.pause,
    "clock": breaking.clock,
    "fault": breaking.fault,
    "compact": breaking.compact,
    "forbid": breaking.forbid,
    "disconnect": breaking.disconnect,
    "api down": breaking.api_down,
    "backup": breaking.backup,
    "restore": breaking.restore,
    "rebuild": breaking.rebuild,
    "cut": breaking.cut,
    "refuse": breaking.cut,
    "gateway down": breaking.gateway_down,
    "gateway moves": breaking.gateway_moves,
    "names lie": breaking.names_lie,
    "names gone": breaking.names_gone,
    "catalogue": breaking.catalogue,
    "token revoked": breaking.revoke,
}
