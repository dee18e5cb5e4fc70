"""How everything is set right again that somebody has broken."""

import base64
from contextlib import suppress

from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import GRANTS, LINKS, PLAIN_SECRETS
from tests.sim.beginning import credentials, exchange, token_of
from tests.sim.layout import GATEWAYS, Joint
from tests.sim.scene import Scene


async def heal(scene: Scene) -> None:
    """End all trouble that somebody makes; what only time can end goes on."""
    scene.ledger.say("## all trouble ends")
    for slot in scene.slots.values():
        slot.doom, slot.clock.ahead = None, 0.0
        if slot.replica is not None:
            if scene.loop.is_paused(slot.replica.process):
                scene.ledger.froze[slot.replica.process] = scene.loop.time()
            scene.loop.resume(slot.replica.process)
    scene.down.clear()
    for target in sorted(scene.network.dead):
        scene.network.dead.discard(target)
        scene.way_changed(target)
    for path in scene.paths():
        path.faults.clear()
        path.heal()
    for joint in scene.layout.joints:
        with suppress(IsthmusError):
            await _set_right(scene, joint)
    with suppress(IsthmusError):
        await bind_anew(scene)
    for slot in scene.slots.values():
        if slot.replica is None:
            scene.start(slot)


def _is_bad(scene: Scene, joint: Joint, secret: JsonObject) -> bool:
    """Whether nobody gets into the target with it; one that is good stays, lest a new one hide
    what only a watch could have shown."""
    raw = base64.b64decode(secret["data"]["kubeconfig"]).decode()
    return token_of(secret) in scene.revoked or f"//{joint.target}.example" not in raw


async def _set_right(scene: Scene, joint: Joint) -> None:
    target, east = joint.target, scene.user("east")
    at = next(
        (where for where, who in scene.network.listening.items() if who == target),
        GATEWAYS[target],
    )
    scene.network.listening[at] = target
    if scene.network.names.get(joint.host) != (at,):
        scene.network.names[joint.host] = (at,)
        scene.way_changed(target)
    if not scene.sites[target].objects("isthmus.dev/grants"):
        given = {"metadata": {"name": "east"}, "spec": {"cluster": "east"}}
        await scene.user(target).create(GRANTS, given)
    if joint.via == "api":
        secret = await east.get(PLAIN_SECRETS, f"cluster-credentials-{target}", "isthmus")
        if secret is None:
            await east.create(PLAIN_SECRETS, credentials(scene, joint))
        elif _is_bad(scene, joint, secret):
            await exchange(scene, credentials(scene, joint))


async def bind_anew(scene: Scene) -> None:
    """Let somebody see which links are bound to a cluster that was rebuilt, and say that it was."""
    east = scene.user("east")
    for joint in scene.layout.joints:
        link = await east.get(LINKS, joint.target)
        pinned = "" if link is None else (link.get("status") or {}).get("clusterUID", "")
        if pinned and pinned != scene.sites[joint.target].uid:
            free = {"status": {"clusterUID": ""}}
            await east.client.merge_patch(LINKS, Key("", joint.target), free, "status")
