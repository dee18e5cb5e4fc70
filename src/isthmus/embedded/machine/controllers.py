"""Writes what workloads and Services call for: their pods, and their EndpointSlices.

Each pass reads the pods afresh, so that it never makes a second time what it has just made.
"""

from collections.abc import Mapping
from contextlib import suppress
from random import Random

from isthmus.embedded.machine import slices, workloads
from isthmus.embedded.machine.objects import (
    DEPLOYMENTS,
    PLAIN_PODS,
    POD_SLICES,
    PODS,
    STATEFUL_SETS,
    Pod,
    Workload,
)
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.workloads import Plan
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Preconditions, Selection
from isthmus.kube.resources import SERVICES, Resource
from isthmus.model.names import MANAGED_BY, SERVICE_NAME
from isthmus.model.objects import Key, Metadata, Service
from isthmus.model.wire import JsonObject

# As Kubernetes does it: vowels and look-alikes are left out, so that no name spells a word.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Controllers:
    def __init__(self, client: Client, ports: Ports) -> None:
        self._client = client
        self._ports = ports
        self._random = Random()

    async def stateful_set(self, workload: Workload | None) -> None:
        if workload is not None and not workload.metadata.deletion_timestamp:
            pods = await self._made_by(workload)
            await self._carry_out(workloads.stateful(workload, pods))
            said = workloads.stateful_status(workload, pods)
            await self._report(STATEFUL_SETS, workload, said)

    async def deployment(self, workload: Workload | None) -> None:
        if workload is not None and not workload.metadata.deletion_timestamp:
            pods = await self._made_by(workload)
            await self._carry_out(workloads.deployed(workload, pods, self._suffix))
            said = workloads.deployed_status(workload, pods)
            await self._report(DEPLOYMENTS, workload, said)

    async def slices(self, service: Service | None) -> None:
        if service is None or not service.spec.selector or service.spec.type == "ExternalName":
            return
        key = service.metadata.key
        own = {SERVICE_NAME: key.name, MANAGED_BY: slices.CONTROLLER}
        selected, ours = _labelled(key, service.spec.selector), _labelled(key, own)
        pods = await self._client.list(PODS, selected)
        present = await self._client.list(POD_SLICES, ours)
        found = slices.changes(service, pods.objects, present.objects, self._ports)
        for one in found.creates:
            await self._client.create(POD_SLICES, one)
        for one in found.replaces:
            await self._client.replace(POD_SLICES, one)
        for one in found.deletes:
            await self._client.delete(POD_SLICES, one.metadata.key, _this(one.metadata))

    async def load_balancer(self, service: Service | None) -> None:
        """Let the Service's own address be that of its load balancer: here, all can reach it."""
        if service is None or service.spec.type != "LoadBalancer":
            return
        address = service.spec.cluster_ip
        if [one.ip for one in service.status.load_balancer.ingress] != [address]:
            said = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
            with suppress(NotFound):
                await self._client.merge_patch(SERVICES, service.metadata.key, said, "status")

    async def _made_by(self, workload: Workload) -> list[Pod]:
        namespace = Selection(namespace=workload.metadata.namespace)
        found = await self._client.list(PODS, namespace)
        uid = workload.metadata.uid
        return [pod for pod in found.objects if pod.maker and pod.maker.uid == uid]

    async def _carry_out(self, plan: Plan) -> None:
        for pod in plan.creates:
            await self._client.create(PLAIN_PODS, pod)
        for doomed in plan.deletes:
            await self._client.delete(PODS, doomed.metadata.key, _this(doomed.metadata))

    async def _report(
        self, resource: Resource[Workload], workload: Workload, said: JsonObject
    ) -> None:
        if all((workload.status.get(name) or 0) == (value or 0) for name, value in said.items()):
            return
        with suppress(NotFound):  # It is gone, and nobody asks for its status any more.
            key = workload.metadata.key
            await self._client.merge_patch(resource, key, {"status": said}, "status")

    def _suffix(self) -> str:
        return "".join(self._random.choices(_LETTERS, k=5))


def _labelled(key: Key, labels: Mapping[str, str]) -> Selection:
    pairs = [f"{name}={value}" for name, value in labels.items()]
    return Selection(namespace=key.namespace, labels=",".join(pairs))


def _this(metadata: Metadata) -> Preconditions:
    return Preconditions(uid=metadata.uid)
