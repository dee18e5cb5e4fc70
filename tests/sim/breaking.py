"""What goes wrong with processes, clusters, and the lines and gateways between them.

Each act returns whether it has done anything; what happens later, if at all, is counted then.
"""

import asyncio

from isthmus.embedded.faults import effects
from isthmus.embedded.state.store import Snapshot
from tests.apps.clusters import PLAIN_SECRETS
from tests.sim import states
from tests.sim.beginning import furnish, token_of
from tests.sim.faults import hurt, is_list, is_watch
from tests.sim.layout import ELSEWHERE, GATEWAYS
from tests.sim.places import site
from tests.sim.scene import Doom, Scene
from tests.sim.steps import Step

BAD_ADDRESSES = ("169.254.169.254", "127.0.0.1", "0.0.0.0", "203.0.113.99")


# What happens to processes.


async def crash(scene: Scene, step: Step) -> bool:
    slot = scene.slots[step.where]
    slot.rests = step.number
    is_there = slot.replica is not None and not slot.replica.is_over
    scene.kill(slot)
    return is_there


async def crash_at(scene: Scene, step: Step) -> bool:
    slot = scene.slots[step.where]
    when = step.kind.split()[1]
    slot.doom = Doom(int(step.number), when, lambda: states.count(scene, step.kind))
    return False


async def stop(scene: Scene, step: Step) -> bool:
    slot = scene.slots[step.where]
    if slot.replica is None:
        return False
    slot.rests = step.number
    slot.replica.stop.set()
    return True


async def pause(scene: Scene, step: Step) -> bool:
    replica = scene.slots[step.where].replica
    if replica is None:
        return False
    process = replica.process
    scene.loop.pause(process)

    def resume() -> None:
        scene.ledger.froze[process] = scene.loop.time()
        scene.loop.resume(process)

    scene.loop.call_later(step.number, resume)
    return True


async def clock(scene: Scene, step: Step) -> bool:
    clock = scene.slots[step.where].clock
    before, clock.ahead = clock.ahead, step.number
    return before != step.number


# What happens to clusters and lines.


async def fault(scene: Scene, step: Step) -> bool:
    slot, _, where = step.where.partition(">")
    for path in scene.paths(slot, where):
        hurt(scene, path, step.what, int(step.number))
    return False


# What a link says whose Secret, meanwhile, leads to a cluster that it must not be linked to.
MISLED = tuple(("False", reason) for reason in ("LinkToSelf", "DuplicateTarget", "IdentityChanged"))


async def forbid(scene: Scene, step: Step) -> bool:
    """Let the source list nothing of a target for a while; L3: the link says so, and why."""
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    leader = scene.ledger.holder
    if joint.via != "api" or _told(scene, step.where, "Ready") != ("True", "Ready"):
        return False
    paths = scene.paths("east", step.where)
    if leader not in {one.process for one in paths}:
        return False
    # What is wrong already would swallow what is to be told; and whose watch is silent asks for no
    # list, for longer than we wait.
    if scene.ledger.is_deaf or any(one.is_troubled for one in paths):
        return False
    could_tell = _can_tell(scene, leader)
    rules = []
    for path in paths:
        rules.append(path.faults.add(effects.failing(403), is_list))
        rules.append(path.faults.add(effects.failing(410), is_watch, 2))
    scene.sites[step.where].cluster.store.disconnect()
    await asyncio.sleep(40)
    told = _told(scene, step.where, "Connected")
    is_due = could_tell and _can_tell(scene, leader)
    if is_due and told not in ((), ("False", "Forbidden"), *MISLED):
        scene.ledger.blame("L3", f"nothing may be listed, and link {step.where} says {told}")
    for rule in rules:
        rule.times = 0
    return True


def _can_tell(scene: Scene, process: str) -> bool:
    """Tell whether a process leads, as far as it knows itself, and can write what it finds: who
    has stood still, or whose lease or writes have trouble, says nothing, and not for want of
    noticing."""
    return not scene.loop.is_paused(process) and any(
        one.replica.process == process
        and one.replica.controller.election.still_leading()
        and not one.replica.paths[0].is_troubled
        for one in scene.slots.values()
        if one.replica is not None
    )


def _told(scene: Scene, link: str, kind: str) -> tuple[str, ...]:
    """What a link says of itself; one that ends is read no more, and says nothing."""
    for one in scene.sites["east"].objects("isthmus.dev/links"):
        if one["metadata"]["name"] == link and "deletionTimestamp" not in one["metadata"]:
            for each in (one.get("status") or {}).get("conditions") or ():
                if each["type"] == kind:
                    return each["status"], each["reason"]
    return ()


async def compact(scene: Scene, step: Step) -> bool:
    scene.sites[step.where].cluster.store.compact()
    return True


async def disconnect(scene: Scene, step: Step) -> bool:
    scene.sites[step.where].cluster.store.disconnect()
    return True


async def api_down(scene: Scene, step: Step) -> bool:
    where = step.where
    scene.down.add(where)
    scene.sites[where].cluster.store.disconnect()
    for path in scene.paths(where=where):
        path.is_refused = True

    def up() -> None:
        scene.down.discard(where)
        for path in scene.paths(where=where):
            path.is_refused = False

    scene.loop.call_later(step.number, up)
    return True


async def backup(scene: Scene, step: Step) -> bool:
    scene.backups[step.where] = scene.sites[step.where].cluster.store.snapshot()
    return True


def _has_all_links(scene: Scene, where: str, backup: Snapshot) -> bool:
    """Links that come to life again without the finalizer that they had by now, or the other way
    round, are the one thing that nobody sets right: `isthmus unlink --force` is for that."""
    there = {
        one.object["metadata"]["uid"]: one.object["metadata"].get("finalizers")
        for one in backup.records
        if one.key.resource == "isthmus.dev/links"
    }
    now = {one["metadata"]["uid"] for one in scene.sites[where].objects("isthmus.dev/links")}
    return there.keys() == now and all(there.values())


async def restore(scene: Scene, step: Step) -> bool:
    if scene.sites[step.where] is not site(step.where, 1):
        return False
    backup = scene.backups.get(step.where)
    if backup is None or not _has_all_links(scene, step.where, backup):
        return False
    scene.sites[step.where].cluster.store.restore(backup)
    # A watch from a version that is in the future by now shows nothing, and does not say so.
    scene.ledger.is_deaf = scene.ledger.was_lied_to = True
    if step.where == "east":
        # The lease is an old one, too: whoever leads has to find out.
        for slot in scene.slots.values():
            if slot.replica is not None:
                scene.ledger.froze[slot.replica.process] = scene.loop.time()
    return True


async def rebuild(scene: Scene, step: Step) -> bool:
    """Let another cluster stand where this one was: same name, same Services, not the same."""
    if scene.sites[step.where] is not site(step.where, 1):
        return False
    scene.sites[step.where].cluster.store.disconnect()
    scene.sites[step.where].observe = lambda _: None
    scene.sites[step.where] = site(step.where, 2)
    scene.sites[step.where].set_back(scene.seed)
    scene.ledger.attend(step.where)
    await furnish(scene, step.where)
    for slot in scene.slots.values():
        if slot.cluster == step.where:
            scene.kill(slot)
    return True


async def cut(scene: Scene, step: Step) -> bool:
    slot, _, where = step.where.partition(">")
    paths = scene.paths(slot, where)
    for path in paths:
        if step.kind == "cut":
            path.break_off()
        else:
            path.is_refused = True
        scene.loop.call_later(step.number, path.heal)
    return bool(paths)


async def gateway_down(scene: Scene, step: Step) -> bool:
    was_up = step.where not in scene.network.dead
    scene.network.dead.add(step.where)

    def up() -> None:
        scene.network.dead.discard(step.where)
        scene.way_changed(step.where)

    scene.loop.call_later(step.number, up)
    return was_up


async def gateway_moves(scene: Scene, step: Step) -> bool:
    scene.way_changed(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    now_at = scene.network.names.get(joint.host, ())
    there = ELSEWHERE[step.where] if GATEWAYS[step.where] in now_at else GATEWAYS[step.where]
    for address in (GATEWAYS[step.where], ELSEWHERE[step.where]):
        scene.network.listening.pop(address, None)
    scene.network.listening[there] = step.where
    scene.network.names[joint.host] = (there,)
    return True


async def names_lie(scene: Scene, step: Step) -> bool:
    scene.way_changed(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    others = [one for name, one in GATEWAYS.items() if name != step.where]
    lies = (*BAD_ADDRESSES, *others)
    scene.network.names[joint.host] = (lies[int(step.number) % len(lies)],)
    return True


async def names_gone(scene: Scene, step: Step) -> bool:
    scene.way_changed(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    return scene.network.names.pop(joint.host, None) is not None


async def catalogue(scene: Scene, step: Step) -> bool:
    broken, serving = scene.network.broken, scene.network.serving(step.where)
    if int(step.number) % 2:
        broken[step.where] = broken.get(step.where, 0) + 1
    else:
        scene.network.silent[step.where] = scene.network.silent.get(step.where, 0) + 1
    return serving is not None and serving.exporting.offers.streams.get("east", 0) > 0


async def revoke(scene: Scene, step: Step) -> bool:
    name = f"cluster-credentials-{step.where}"
    found = await scene.user("east").get(PLAIN_SECRETS, name, "isthmus")
    if found is None:
        return False
    scene.revoked.add(token_of(found))
    scene.sites[step.where].cluster.store.disconnect()
    return True
