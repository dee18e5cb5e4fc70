"""Carries steps out: what users, administrators, networks and machines do to a scene."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress

import yaml

from isthmus.embedded.faults import effects
from isthmus.embedded.state.store import Snapshot
from isthmus.kube.errors import AlreadyExists, Conflict, NotFound, Rejected
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps import clusters
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    endpoints,
    exported,
)
from tests.sim import contract, states
from tests.sim.contract import EXPORTED, MIRRORED
from tests.sim.faults import hurt, is_list, is_watch
from tests.sim.layout import ELSEWHERE, GATEWAYS, Joint
from tests.sim.ledger import CANARY
from tests.sim.places import site
from tests.sim.scene import Scene
from tests.sim.steps import Step

Act = Callable[[Scene, Step], Awaitable[None]]
BAD_ADDRESSES = ("169.254.169.254", "127.0.0.1", "0.0.0.0", "203.0.113.99")
CALM = frozenset(
    {"begin", "export", "port", "ready", "unready", "scale", "backup", "relink", "namespace back"}
)  # what is no fault


async def act(scene: Scene, step: Step) -> None:
    """Let one step happen; what is impossible by now does not."""
    name = f"{step.kind}: {step.what}" if step.kind == "fault" else step.kind
    if step.kind not in CALM:
        scene.injected[name] += 1
        for state in states.of(scene):
            scene.pairs[name, state] += 1
    scene.ledger.say(f"## {step}")
    with suppress(NotFound, AlreadyExists, Conflict, Rejected):
        await ACTS[step.kind](scene, step)
    await asyncio.sleep(step.wait)


# The beginning.


async def begin(scene: Scene, _step: Step) -> None:
    for joint in scene.layout.joints:
        await furnish(scene, joint.target)
        scene.network.names[joint.host] = (GATEWAYS[joint.target],)
        scene.network.listening[GATEWAYS[joint.target]] = joint.target
        scene.backups[joint.target] = scene.sites[joint.target].cluster.store.snapshot()
        east = scene.user("east")
        if joint.via == "api":
            await east.create(PLAIN_SECRETS, credentials(scene, joint))
        await east.create(LINKS, joint.link())
    scene.ledger.egress |= {"10.1.0.7", "10.1.0.8"}
    for slot in scene.slots.values():
        scene.start(slot)


async def furnish(scene: Scene, target: str) -> None:
    """Give a target what the layout says it has."""
    there = scene.user(target)
    await there.create(GRANTS, {"metadata": {"name": "east"}, "spec": {"cluster": "east"}})
    for where, what in scene.layout.services:
        if where == target:
            space, name, *pods = what.split("/")
            await there.create(SERVICES, exported(name, headless=bool(pods), namespace=space))
            hosts = [f"{name}-{n}" for n in range(int(pods[0]))] if pods else ["10.2.0.1"]
            await there.create(SLICES, endpoints(name, *hosts, namespace=space))


def credentials(scene: Scene, joint: Joint, host: str = "") -> JsonObject:
    """The Secret of a link, with a token that was never used before."""
    token = f"{CANARY}-{joint.target}-{scene.loop.time():.6f}"
    return clusters.secret(joint.target, clusters.kubeconfig(host or joint.target, token))


def token_of(secret: JsonObject) -> str:
    found = yaml.safe_load(base64.b64decode(secret["data"]["kubeconfig"]))
    return str(found["users"][0]["user"]["token"])


# Changes in a target.


async def export(scene: Scene, step: Step) -> None:
    there, (space, name) = scene.user(step.where), step.what.split("/")
    if await there.get(SERVICES, name, space) is None:
        await there.create(SERVICES, exported(name, namespace=space, port=int(step.number)))
        with suppress(AlreadyExists):
            await there.create(SLICES, endpoints(name, "10.2.0.1", namespace=space))
    else:
        await there.edit(SERVICES, name, {"metadata": {"labels": {EXPORTED: "true"}}}, space)


async def unexport(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    patch = {"metadata": {"labels": {EXPORTED: None}}}
    await scene.user(step.where).edit(SERVICES, name, patch, space)


async def remove(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    there = scene.user(step.where)
    await there.delete(SERVICES, name, space)
    await there.delete(SLICES, f"{name}-abcde", space)


async def recreate(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    there = scene.user(step.where)
    found = await there.get(SERVICES, name, space)
    if found is not None:
        headless = found["spec"].get("clusterIP") == "None"
        await there.delete(SERVICES, name, space)
        made = exported(name, headless=headless, namespace=space, port=int(step.number))
        await there.create(SERVICES, made)


async def flip(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    there = scene.user(step.where)
    found = await there.get(SERVICES, name, space)
    if found is not None:
        headless = found["spec"].get("clusterIP") != "None"
        await there.delete(SERVICES, name, space)
        await there.create(SERVICES, exported(name, headless=headless, namespace=space))


async def port(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    patch = {"spec": {"ports": [{"name": "http", "port": int(step.number)}]}}
    await scene.user(step.where).edit(SERVICES, name, patch, space)


async def ready(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    there = scene.user(step.where)
    found = await there.get(SLICES, f"{name}-abcde", space)
    if found is not None:
        value = step.kind == "ready"
        changed = [{**one, "conditions": {"ready": value}} for one in found.get("endpoints") or ()]
        await there.edit(SLICES, f"{name}-abcde", {"endpoints": changed}, space)


async def scale(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    made = endpoints(name, *(f"{name}-{n}" for n in range(int(step.number))), namespace=space)
    patch = {"endpoints": made["endpoints"]}
    await scene.user(step.where).edit(SLICES, f"{name}-abcde", patch, space)


async def mass(scene: Scene, step: Step) -> None:
    for one in scene.sites[step.where].objects("/services"):
        if (one["metadata"].get("labels") or {}).get(EXPORTED):
            space, name = contract.name_of(one)
            await unexport(scene, Step("unexport", step.where, f"{space}/{name}"))


# What users do in the source.


def _mirror(scene: Scene, step: Step, resource: str = "/services") -> tuple[str, str] | None:
    ours = [one for one in scene.sites["east"].objects(resource) if contract.is_ours(one)]
    if step.number < 0:
        space, _, name = step.what.partition("/")
        return space, f"{name}-{step.where}"
    return contract.name_of(ours[int(step.number) % len(ours)]) if ours else None


_PATCHES: dict[str, JsonObject] = {
    "edit ports": {"spec": {"ports": [{"name": "mine", "port": 9999}]}},
    "edit selector": {"spec": {"selector": {"app": "mine"}}},
    "edit labels": {"metadata": {"labels": {"mine": "yes"}}},
    "strip": {"metadata": {"labels": {MIRRORED: None}}},
}


async def edit(scene: Scene, step: Step) -> None:
    found = _mirror(scene, step)
    if found is not None:
        await scene.user("east").edit(SERVICES, found[1], _PATCHES[step.kind], found[0])


async def edit_slice(scene: Scene, step: Step) -> None:
    found = _mirror(scene, step, "discovery.k8s.io/endpointslices")
    if found is not None:
        await scene.user("east").edit(SLICES, found[1], {"endpoints": []}, found[0])


async def delete_mirror(scene: Scene, step: Step) -> None:
    found = _mirror(scene, step)
    if found is not None:
        await scene.user("east").delete(SERVICES, found[1], found[0])


async def delete_slice(scene: Scene, step: Step) -> None:
    found = _mirror(scene, step, "discovery.k8s.io/endpointslices")
    if found is not None:
        await scene.user("east").delete(SLICES, found[1], found[0])


async def take(scene: Scene, step: Step) -> None:
    """Make a mirror's name one's own."""
    found = _mirror(scene, step)
    if found is not None:
        with suppress(NotFound):
            await scene.user("east").delete(SERVICES, found[1], found[0])
        await _squat(scene, found)


async def squat(scene: Scene, step: Step) -> None:
    space, name = step.what.split("/")
    await _squat(scene, (space, f"{name}-{step.where}"))


async def _squat(scene: Scene, name: tuple[str, str]) -> None:
    spec = {"ports": [{"port": 1234}], "selector": {"app": "mine"}}
    metadata = {"namespace": name[0], "name": name[1], "labels": {"mine": "yes"}}
    await scene.user("east").create(SERVICES, {"metadata": metadata, "spec": spec})


async def unsquat(scene: Scene, _step: Step) -> None:
    for one in scene.sites["east"].objects("/services"):
        if (one["metadata"].get("labels") or {}).get("mine") and not contract.is_ours(one):
            space, name = contract.name_of(one)
            await scene.user("east").delete(SERVICES, name, space)
            return


async def egress(scene: Scene, step: Step) -> None:
    made = clusters.egress_slice(*(f"10.1.0.{7 + n}" for n in range(1 + int(step.number) % 3)))
    patch = {"endpoints": made["endpoints"]}
    await scene.user("east").edit(SLICES, "isthmus-egress-1", patch, "isthmus")


async def respecify(scene: Scene, step: Step) -> None:
    east = scene.user("east")
    found = await east.get(LINKS, step.where)
    if found is not None:
        spec = found["spec"]
        if step.kind == "headless":
            patch: JsonObject = {
                "enableHeadlessServices": not spec.get("enableHeadlessServices", False)
            }
        else:
            patch = {"dataPlane": "external" if spec["dataPlane"] == "envoy" else "envoy"}
        await east.edit(LINKS, step.where, {"spec": patch})


async def namespace_gone(scene: Scene, step: Step) -> None:
    await scene.user("east").delete(PLAIN_NAMESPACES, step.what)


async def namespace_back(scene: Scene, step: Step) -> None:
    await scene.user("east").create(PLAIN_NAMESPACES, {"metadata": {"name": step.what}})


async def unlink(scene: Scene, step: Step) -> None:
    await scene.user("east").delete(LINKS, step.where)


async def relink(scene: Scene, step: Step) -> None:
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    await scene.user("east").create(LINKS, joint.link())


# What happens to processes.


async def crash(scene: Scene, step: Step) -> None:
    slot = scene.slots[step.where]
    slot.rests = step.number
    scene.kill(slot)


async def crash_at(scene: Scene, step: Step) -> None:
    slot = scene.slots[step.where]
    slot.crash_at = int(step.number), step.kind.split()[1]


async def stop(scene: Scene, step: Step) -> None:
    slot = scene.slots[step.where]
    if slot.replica is not None:
        slot.rests = step.number
        slot.replica.stop.set()


async def pause(scene: Scene, step: Step) -> None:
    replica = scene.slots[step.where].replica
    if replica is None:
        return
    process = replica.process
    scene.loop.pause(process)

    def resume() -> None:
        scene.ledger.froze[process] = scene.loop.time()
        scene.loop.resume(process)

    scene.loop.call_later(step.number, resume)


async def clock(scene: Scene, step: Step) -> None:
    scene.slots[step.where].clock.ahead = step.number


# What happens to clusters and lines.


async def fault(scene: Scene, step: Step) -> None:
    slot, _, where = step.where.partition(">")
    for path in scene.paths(slot, where):
        hurt(scene, path, step.what, int(step.number))


async def forbid(scene: Scene, step: Step) -> None:
    """Let the source list nothing of a target for a while; L3: the link says so, and why."""
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    leader = scene.ledger.holder
    if joint.via != "api" or _told(scene, step.where, "Ready") != ("True", "Ready"):
        return
    if leader not in {one.process for one in scene.paths("east", step.where)}:
        return
    could_tell = _can_tell(scene, leader)
    rules = []
    for path in scene.paths("east", step.where):
        if path.cut is not None or path.is_refused:
            return
        rules.append(path.faults.add(effects.failing(403), is_list))
        rules.append(path.faults.add(effects.failing(410), is_watch, 2))
    scene.sites[step.where].cluster.store.disconnect()
    await asyncio.sleep(40)
    told = _told(scene, step.where, "Connected")
    is_due = could_tell and _can_tell(scene, leader)
    if is_due and told not in ((), ("False", "Forbidden")):
        scene.ledger.blame("L3", f"nothing may be listed, and link {step.where} says {told}")
    for rule in rules:
        rule.times = 0


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
    """What a link says of itself."""
    for one in scene.sites["east"].objects("isthmus.dev/links"):
        if one["metadata"]["name"] == link:
            for each in (one.get("status") or {}).get("conditions") or ():
                if each["type"] == kind:
                    return each["status"], each["reason"]
    return ()


async def compact(scene: Scene, step: Step) -> None:
    scene.sites[step.where].cluster.store.compact()


async def disconnect(scene: Scene, step: Step) -> None:
    scene.sites[step.where].cluster.store.disconnect()


async def api_down(scene: Scene, step: Step) -> None:
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


async def backup(scene: Scene, step: Step) -> None:
    scene.backups[step.where] = scene.sites[step.where].cluster.store.snapshot()


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


async def restore(scene: Scene, step: Step) -> None:
    if scene.sites[step.where] is not site(step.where, 1):
        return
    backup = scene.backups.get(step.where)
    if backup is None or not _has_all_links(scene, step.where, backup):
        return
    scene.sites[step.where].cluster.store.restore(backup)
    # A watch from a version that is in the future by now shows nothing, and does not say so.
    scene.ledger.is_deaf = scene.ledger.was_lied_to = True
    if step.where == "east":
        # The lease is an old one, too: whoever leads has to find out.
        for slot in scene.slots.values():
            if slot.replica is not None:
                scene.ledger.froze[slot.replica.process] = scene.loop.time()


async def rebuild(scene: Scene, step: Step) -> None:
    """Let another cluster stand where this one was: same name, same Services, not the same."""
    if scene.sites[step.where] is not site(step.where, 1):
        return
    scene.sites[step.where].cluster.store.disconnect()
    scene.sites[step.where].observe = lambda _: None
    scene.sites[step.where] = site(step.where, 2)
    scene.sites[step.where].set_back(scene.seed)
    scene.ledger.attend(step.where)
    await furnish(scene, step.where)
    for slot in scene.slots.values():
        if slot.cluster == step.where:
            scene.kill(slot)


async def cut(scene: Scene, step: Step) -> None:
    slot, _, where = step.where.partition(">")
    for path in scene.paths(slot, where):
        if step.kind == "cut":
            path.break_off()
        else:
            path.is_refused = True
        scene.loop.call_later(step.number, path.heal)


async def gateway_down(scene: Scene, step: Step) -> None:
    scene.way_lost(step.where)
    scene.network.dead.add(step.where)
    scene.loop.call_later(step.number, scene.network.dead.discard, step.where)


async def gateway_moves(scene: Scene, step: Step) -> None:
    scene.way_lost(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    now_at = scene.network.names.get(joint.host, ())
    there = ELSEWHERE[step.where] if GATEWAYS[step.where] in now_at else GATEWAYS[step.where]
    for address in (GATEWAYS[step.where], ELSEWHERE[step.where]):
        scene.network.listening.pop(address, None)
    scene.network.listening[there] = step.where
    scene.network.names[joint.host] = (there,)


async def names_lie(scene: Scene, step: Step) -> None:
    scene.way_lost(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    others = [one for name, one in GATEWAYS.items() if name != step.where]
    lies = (*BAD_ADDRESSES, *others)
    scene.network.names[joint.host] = (lies[int(step.number) % len(lies)],)


async def names_gone(scene: Scene, step: Step) -> None:
    scene.way_lost(step.where)
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    scene.network.names.pop(joint.host, None)


async def catalogue(scene: Scene, step: Step) -> None:
    broken = scene.network.broken
    if int(step.number) % 2:
        broken[step.where] = broken.get(step.where, 0) + 1
    else:
        scene.network.silent[step.where] = scene.network.silent.get(step.where, 0) + 1


# Credentials.


async def key(scene: Scene, step: Step) -> None:
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    east, name = scene.user("east"), f"cluster-credentials-{step.where}"
    found = await east.get(PLAIN_SECRETS, name, "isthmus")
    match step.kind:
        case "token revoked" if found is not None:
            scene.revoked.add(token_of(found))
            scene.sites[step.where].cluster.store.disconnect()
        case "secret swapped" if found is not None:
            await _exchange(scene, credentials(scene, joint))
        case "secret gone" if found is not None:
            await east.delete(PLAIN_SECRETS, name, "isthmus")
        case "secret wrong" if found is not None:
            others = [one for one in ("east", *scene.layout.targets) if one != step.where]
            wrong = others[int(step.number) % len(others)]
            await _exchange(scene, credentials(scene, joint, wrong))


async def _exchange(scene: Scene, secret: JsonObject) -> None:
    patch = {"data": secret["data"]}
    await scene.user("east").edit(PLAIN_SECRETS, secret["metadata"]["name"], patch, "isthmus")


async def grant(scene: Scene, step: Step) -> None:
    there = scene.user(step.where)
    if step.kind == "grant none":
        await there.delete(GRANTS, "east")
    else:
        await there.edit(GRANTS, "east", {"spec": {"to": {"namespaces": ["shop"]}}})


ACTS: dict[str, Act] = {
    "begin": begin,
    "export": export,
    "unexport": unexport,
    "remove": remove,
    "recreate": recreate,
    "flip": flip,
    "port": port,
    "ready": ready,
    "unready": ready,
    "scale": scale,
    "mass": mass,
    "edit ports": edit,
    "edit selector": edit,
    "edit labels": edit,
    "strip": edit,
    "edit slice": edit_slice,
    "delete mirror": delete_mirror,
    "delete slice": delete_slice,
    "take": take,
    "squat": squat,
    "unsquat": unsquat,
    "egress": egress,
    "headless": respecify,
    "plane": respecify,
    "namespace gone": namespace_gone,
    "namespace back": namespace_back,
    "unlink": unlink,
    "relink": relink,
    "crash": crash,
    "crash before": crash_at,
    "crash after": crash_at,
    "stop": stop,
    "pause": pause,
    "clock": clock,
    "fault": fault,
    "compact": compact,
    "forbid": forbid,
    "disconnect": disconnect,
    "api down": api_down,
    "backup": backup,
    "restore": restore,
    "rebuild": rebuild,
    "cut": cut,
    "refuse": cut,
    "gateway down": gateway_down,
    "gateway moves": gateway_moves,
    "names lie": names_lie,
    "names gone": names_gone,
    "catalogue": catalogue,
    "token revoked": key,
    "secret swapped": key,
    "secret gone": key,
    "secret wrong": key,
    "grant none": grant,
    "grant shop": grant,
}


async def heal(scene: Scene) -> None:
    """End all trouble that somebody makes; what only time can end goes on."""
    scene.ledger.say("## all trouble ends")
    for slot in scene.slots.values():
        slot.crash_at, slot.clock.ahead = None, 0.0
        if slot.replica is not None:
            if scene.loop.is_paused(slot.replica.process):
                scene.ledger.froze[slot.replica.process] = scene.loop.time()
            scene.loop.resume(slot.replica.process)
    scene.down.clear()
    scene.network.dead.clear()
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
    scene.network.names[joint.host] = (at,)
    if not scene.sites[target].objects("isthmus.dev/grants"):
        given = {"metadata": {"name": "east"}, "spec": {"cluster": "east"}}
        await scene.user(target).create(GRANTS, given)
    if joint.via == "api":
        secret = await east.get(PLAIN_SECRETS, f"cluster-credentials-{target}", "isthmus")
        if secret is None:
            await east.create(PLAIN_SECRETS, credentials(scene, joint))
        elif _is_bad(scene, joint, secret):
            await _exchange(scene, credentials(scene, joint))


async def bind_anew(scene: Scene) -> None:
    """Let somebody see which links are bound to a cluster that was rebuilt, and say that it was."""
    east = scene.user("east")
    for joint in scene.layout.joints:
        link = await east.get(LINKS, joint.target)
        pinned = "" if link is None else (link.get("status") or {}).get("clusterUID", "")
        if pinned and pinned != scene.sites[joint.target].uid:
            free = {"status": {"clusterUID": ""}}
            await east.client.merge_patch(LINKS, Key("", joint.target), free, "status")
