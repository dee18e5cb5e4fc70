"""What users and administrators do, in the targets and in the source."""

from contextlib import suppress

from isthmus.kube.errors import AlreadyExists, NotFound
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
from tests.sim import contract
from tests.sim.beginning import credentials, exchange
from tests.sim.contract import EXPORTED, MIRRORED
from tests.sim.scene import Scene
from tests.sim.steps import Step

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


# Credentials.


async def secret(scene: Scene, step: Step) -> None:
    joint = next(one for one in scene.layout.joints if one.target == step.where)
    east, name = scene.user("east"), f"cluster-credentials-{step.where}"
    found = await east.get(PLAIN_SECRETS, name, "isthmus")
    match step.kind:
        case "secret swapped" if found is not None:
            await exchange(scene, credentials(scene, joint))
        case "secret gone" if found is not None:
            await east.delete(PLAIN_SECRETS, name, "isthmus")
        case "secret wrong" if found is not None:
            others = [one for one in ("east", *scene.layout.targets) if one != step.where]
            wrong = others[int(step.number) % len(others)]
            await exchange(scene, credentials(scene, joint, wrong))


async def grant(scene: Scene, step: Step) -> None:
    there = scene.user(step.where)
    if step.kind == "grant none":
        await there.delete(GRANTS, "east")
    else:
        await there.edit(GRANTS, "east", {"spec": {"to": {"namespaces": ["shop"]}}})
