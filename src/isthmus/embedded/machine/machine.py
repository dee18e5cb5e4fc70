"""The machine, put together: read this first.

Watches keep a view of the cluster, changes of it queue work, and workers make what runs on this
machine, and what the API says about it, one. All of it goes through the cluster's API, as the
controllers, the kubelet and the proxy of a real cluster do.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from ipaddress import IPv4Address, IPv4Network
from types import TracebackType
from typing import Self, assert_never

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine import nameserver
from isthmus.embedded.machine.addresses import ServiceAddresses
from isthmus.embedded.machine.controllers import Controllers
from isthmus.embedded.machine.kubelet import Kubelet
from isthmus.embedded.machine.life import Equipment
from isthmus.embedded.machine.objects import Pod
from isthmus.embedded.machine.ports import Ports, permitted
from isthmus.embedded.machine.programs import PROGRAMS, House, Programs, starting
from isthmus.embedded.machine.records import Zone
from isthmus.embedded.machine.streams import Stream, connect
from isthmus.embedded.machine.view import Part, View, Work
from isthmus.kube.client import Client
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.clock import SystemClock
from isthmus.runtime.work import work
from isthmus.runtime.workqueue import WorkQueue

BACKOFF = Backoff(first=0.05, cap=2.0)
DNS_PORT = 53
DNS_OFFSET = 10  # of the name server's address in the range of Services, as is the custom

_HOUSE = House()


class NoSuchPod(Permanent):
    """The cluster has no such pod, or it has no address yet."""


class Machine:
    """Runs an embedded cluster's pods, Service addresses and names: ``async with Machine(east)``.

    ``programs`` says what images run (see :mod:`isthmus.embedded.machine.programs`), ``ports``
    which ports may be bound; found out, unless it is said. ``house`` is for those that are
    processes.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        programs: Programs = PROGRAMS,
        ports: Ports | None = None,
        house: House = _HOUSE,
    ) -> None:
        self.cluster = cluster
        self.ports = ports or permitted()
        self._client = Client(cluster.transport())
        self._queue: WorkQueue[Work] = WorkQueue(SystemClock(), backoff=BACKOFF)
        self._view = View(self._queue.add)
        view, services = self._view, self._view.services.objects
        self._controllers = Controllers(self._client, self.ports)
        self._addresses = ServiceAddresses(services, view.slices_of, self.ports, self._spawn)
        self.zone = Zone(cluster.domain, services, view.slices_of, self.ports)
        equipment = Equipment(
            start=starting(programs, self.ports, self.zone.resolve, house),
            stores=view.stores(self._client, house.folder),
            ports=self.ports,
        )
        self._kubelet = Kubelet(
            view.pods.objects, cluster.pod_range, equipment, self._spawn, self._look_at
        )
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._standing: set[asyncio.Task[None]] = set()  # those that run as long as we do
        self._around = AsyncExitStack()

    @property
    def dns(self) -> tuple[str, int]:
        """Where the name server answers."""
        network = IPv4Network(self.cluster.service_range)
        return str(network[DNS_OFFSET]), self.ports.at(DNS_PORT)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        try:
            await self._around.enter_async_context(nameserver.serve(self.zone, *self.dns))
            parts = self._view.reflections(self._client, self.cluster.name)
            for part in (*parts, work(self._queue, self._reconcile)):
                self._standing.add(self._spawn(part))
            await self._view.synced.wait()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    def pod(self, name: str, namespace: str = "default") -> Pod:
        """A pod that has an address; raises ``NoSuchPod``."""
        found = self._view.pods.objects.get(Key(namespace, name))
        if found is None or not found.status.pod_ip:
            raise NoSuchPod(f"no pod {namespace}/{name} runs in cluster {self.cluster.name}")
        return found

    def resolve(self, name: str, namespace: str = "default") -> tuple[str, ...]:
        """The addresses that a pod of ``namespace`` gets for ``name``; raises ``Unresolved``."""
        try:
            return (str(IPv4Address(name)),)
        except ValueError:
            return self.zone.resolve(name, namespace)

    async def connect(
        self, pod: str, name: str, port: int, *, namespace: str = "default"
    ) -> Stream:
        """Connect as ``pod`` does: by the names it knows, from its own address.

        Raises ``NoSuchPod``, ``Unresolved``, or the OSError of the last address tried.
        """
        source = self.pod(pod, namespace).status.pod_ip
        *others, last = self.resolve(name, namespace)
        for address in others:
            try:
                return await connect(source, address, self.ports.at(port))
            except OSError:
                continue
        return await connect(source, last, self.ports.at(port))

    def _look_at(self, pod: Key) -> None:
        self._queue.add(Work(Part.POD, pod))

    def _spawn(self, part: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._group.create_task(part)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _close(self) -> None:
        """End everything, in an order in which nothing new starts meanwhile."""
        self._queue.close()
        for task in self._standing:
            task.cancel()
        try:
            if self._standing:
                await asyncio.wait(self._standing)
            await self._kubelet.close()
        finally:
            self._addresses.close()
            for task in self._tasks:
                task.cancel()
            await self._around.aclose()
            # Whatever ended the caller's block is the caller's; the group has only ours to tell.
            await self._group.__aexit__(None, None, None)

    async def _reconcile(self, item: Work) -> None:
        view, key = self._view, item.key
        match item.part:
            case Part.POD:
                again = await self._kubelet.reconcile(key)
                if again is not None:
                    self._queue.add_after(item, again)
            case Part.STATEFUL_SET:
                await self._controllers.stateful_set(view.stateful_sets.objects.get(key))
            case Part.DEPLOYMENT:
                await self._controllers.deployment(view.deployments.objects.get(key))
            case Part.SLICES:
                await self._controllers.slices(view.services.objects.get(key))
            case Part.ADDRESS:
                await self._addresses.reconcile(key)
                await self._controllers.load_balancer(view.services.objects.get(key))
            case _:
                assert_never(item.part)
