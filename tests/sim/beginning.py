"""What there is before anything happens, put into the clusters; and the ways into targets."""

import base64

import yaml

from isthmus.model.wire import JsonObject
from tests.apps import clusters
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    endpoints,
    exported,
)
from tests.sim.layout import GATEWAYS, Joint
from tests.sim.ledger import CANARY
from tests.sim.scene import Scene
from tests.sim.steps import Step


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


async def exchange(scene: Scene, secret: JsonObject) -> None:
    patch = {"data": secret["data"]}
    await scene.user("east").edit(PLAIN_SECRETS, secret["metadata"]["name"], patch, "isthmus")
