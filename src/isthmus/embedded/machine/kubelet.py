"""Runs pods: gives each an address and its programs, and writes what became of it."""

import asyncio
import errno
import ipaddress
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeAlias

from isthmus.embedded.machine.objects import PODS, Container, Pod
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.programs import Programs, Site, chosen, ports_of
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Preconditions
from isthmus.model.errors import IsthmusError, Transient
from isthmus.model.objects import Key
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock

NODE = "machine"
ATTEMPTS = 32  # addresses that may be taken by somebody else before we give up
_BACKED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")

Spawn: TypeAlias = Callable[[Coroutine[None, None, None]], object]


class NotStarted(Transient):
    """A program could not be started, or could not bind its ports."""


@dataclass(slots=True)
class Life:
    """A pod that runs, from its first program's start to its last one's end."""

    uid: str
    address: str
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ends_at: float | None = None  # when it is to stop, once that is known


class Kubelet:
    """Runs the pods that ``pods`` knows of; ``spawn`` starts a task of the machine."""

    def __init__(
        self,
        client: Client,
        pods: Mapping[Key, Pod],
        pod_range: str,
        programs: Programs,
        ports: Ports,
    ) -> None:
        self._client = client
        self._pods = pods
        self._programs = programs
        self._ports = ports
        self._network = ipaddress.IPv4Network(pod_range)
        self._last = 0  # address given out, as a number within the range
        self._lives: dict[Key, Life] = {}

    async def reconcile(self, key: Key, spawn: Spawn, clock: Clock) -> float | None:
        """Make what runs under ``key`` what the API says; answer when to look again, if ever."""
        pod, life = self._pods.get(key), self._lives.get(key)
        if life is not None and (pod is None or pod.metadata.uid != life.uid):
            await self._end(key, life)
            life = None
        if pod is None or pod.has_ended or pod.spec.node_name not in ("", NODE):
            return None
        try:
            if pod.is_terminating:
                return await self._finish(pod, life, clock)
            if not pod.spec.node_name:
                uid = {"uid": pod.metadata.uid}
                patch = {"metadata": uid, "spec": {"nodeName": NODE}}
                await self._client.merge_patch(PODS, key, patch)
            elif life is None:
                life = await self._start(pod, spawn)
            if life and (pod.status.pod_ip, pod.status.phase) != (life.address, "Running"):
                said = {"metadata": {"uid": life.uid}, "status": _status(pod, life, clock)}
                await self._client.merge_patch(PODS, key, said, "status")
        except NotFound:
            pass  # It is gone; the watch will say so, too.
        return None

    async def close(self) -> None:
        for key, life in list(self._lives.items()):
            await self._end(key, life)

    async def _finish(self, pod: Pod, life: Life | None, clock: Clock) -> float | None:
        """End a pod that somebody has deleted, after the pause that it has asked for."""
        key = pod.metadata.key
        if life is not None:
            if life.ends_at is None:
                hooks = (one.lifecycle.pre_stop for one in pod.spec.containers)
                life.ends_at = clock.now() + max(hook.sleep.seconds for hook in hooks)
            left = life.ends_at - clock.now()
            if left > 0:
                return left
            await self._end(key, life)
        await self._client.delete(PODS, key, Preconditions(uid=pod.metadata.uid), grace=0)
        return None

    async def _start(self, pod: Pod, spawn: Spawn) -> Life:
        for address in self._addresses(pod):
            life = Life(pod.metadata.uid, address)
            started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            spawn(self._live(pod, life, started))
            try:
                await started
            except OSError as error:
                if error.errno == errno.EADDRINUSE and not pod.status.pod_ip:
                    continue
                raise NotStarted(f"pod {pod.metadata.key} at {address}: {error}") from error
            self._lives[pod.metadata.key] = life
            return life
        raise NotStarted(
            f"pod {pod.metadata.key}: no address of {self._network} has its ports free; "
            "does something listen on all addresses?"
        )

    async def _live(self, pod: Pod, life: Life, started: "asyncio.Future[None]") -> None:
        try:
            async with AsyncExitStack() as stack:
                try:
                    for container in pod.spec.containers:
                        program = chosen(self._programs, container.image)
                        site = self._site(pod, container, life.address)
                        await stack.enter_async_context(program(site))
                except (OSError, IsthmusError) as error:
                    # Kept from the programs that have started: they end as they always do.
                    started.set_exception(error)
                    return
                started.set_result(None)
                await life.stop.wait()
        finally:
            life.ended.set()

    def _site(self, pod: Pod, container: Container, address: str) -> Site:
        ports = tuple(self._ports.at(port) for port in ports_of(container))
        return Site(pod=pod, container=container, address=address, ports=ports)

    def _addresses(self, pod: Pod) -> Iterator[str]:
        """The address that the pod has already, or those that it may get, never one just freed."""
        if pod.status.pod_ip:
            yield pod.status.pod_ip
            return
        size = self._network.num_addresses - 2
        for _ in range(min(ATTEMPTS, size)):
            taken = {life.address for life in self._lives.values()}
            taken |= {one.status.pod_ip for one in self._pods.values()}
            for _ in range(size):
                self._last = self._last % size + 1
                address = str(self._network[self._last])
                if address not in taken:
                    yield address
                    break

    async def _end(self, key: Key, life: Life) -> None:
        life.stop.set()
        await life.ended.wait()
        if self._lives.get(key) is life:
            del self._lives[key]


def _status(pod: Pod, life: Life, clock: Clock) -> JsonObject:
    now = second_time(clock.utc())
    condition = {"status": "True", "lastTransitionTime": now}
    return {
        "phase": "Running",
        "podIP": life.address,
        "podIPs": [{"ip": life.address}],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": now,
        "conditions": [{"type": name, **condition} for name in _BACKED],
        "containerStatuses": [
            {
                "name": container.name,
                "image": container.image,
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for container in pod.spec.containers
        ],
    }
