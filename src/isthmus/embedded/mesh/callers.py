"""Finds the pod that something is to be done as: from inside of a demo, or from another process."""

from isthmus.embedded.machine.machine import DNS_PORT, Machine
from isthmus.embedded.machine.objects import PODS
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.mesh.calls import Caller
from isthmus.embedded.mesh.lookups import NAME_SERVER
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import SERVICES
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key


class NoCaller(Permanent):
    """There is no such pod, or it does not run."""


def here(machine: Machine, pod: Key) -> Caller:
    """A pod of a machine that runs in this process; raises ``NoSuchPod``."""
    found = machine.pod(pod.name, pod.namespace)
    domain = machine.cluster.domain
    return Caller(found.status.pod_ip, pod.namespace, domain, machine.dns, machine.ports)


async def found(client: Client, pod: Key, domain: str, ports: Ports) -> Caller:
    """A pod of the cluster that ``client`` talks to."""
    try:
        wanted = await client.get(PODS, pod)
        names = await client.get(SERVICES, NAME_SERVER)
    except NotFound as error:
        raise NoCaller(f"{pod}: {error}") from error
    if not wanted.status.pod_ip:
        raise NoCaller(f"pod {pod} does not run yet")
    server = (names.spec.cluster_ip, ports.at(DNS_PORT))
    return Caller(wanted.status.pod_ip, pod.namespace, domain, server, ports)
