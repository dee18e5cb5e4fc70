"""Two gateways and two egresses, restarted one after another, as a rollout does it."""

from isthmus.embedded.machine.objects import PODS
from isthmus.kube.resources import SERVICES
from isthmus.model.objects import Key
from tests.dataplane.joined import LINKS, SYSTEM, WORKLOADS, Pair, Side
from tests.support import machine as machines
from tests.support.waiting import until


async def start(side: Side, role: str, name: str) -> None:
    """Start a proxy beside others of its role, and wait until it is ready."""
    workload = f"isthmus-{role}"
    pod = machines.pod(name, f"isthmus.dev/{role}", serviceAccountName=workload)
    pod["metadata"]["labels"] = {"app": workload}
    ports = [{"containerPort": port} for port in WORKLOADS[workload].values()]
    pod["spec"]["containers"][0]["ports"] = ports
    await side.kubectl.create(pod, namespace=SYSTEM)

    async def ready() -> bool:
        return (await side.client.get(PODS, Key(SYSTEM, name))).is_ready

    await until(ready, bool)


async def stop(side: Side, name: str) -> None:
    """End a proxy as Kubernetes does, and wait until it is gone."""
    await side.client.delete(PODS, Key(SYSTEM, name))

    async def names() -> set[str]:
        found = await side.client.list(PODS)
        return {one.metadata.name for one in found.objects}

    await until(names, lambda found: name not in found, within=60)


async def through_service(two: Pair) -> None:
    """Let east call west's gateways by the one address that they share."""
    service = await two.west.client.get(SERVICES, Key(SYSTEM, "isthmus-gateway"))
    spec = {"gateway": {"addresses": [service.spec.cluster_ip]}}
    await two.east.client.merge_patch(LINKS, Key("", "west"), {"spec": spec})
