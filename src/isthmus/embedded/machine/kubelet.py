"""Runs pods: gives each an address and its programs, and writes what became of it."""

import asyncio
import errno
import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime

from isthmus.embedded.machine.objects import PODS, Pod
from isthmus.embedded.machine.programs import Start
from isthmus.embedded.machine.streams import Spawn
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Preconditions
from isthmus.model.errors import IsthmusError, Transient
from isthmus.model.objects import Key
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock

NODE = "machine"
# Seconds between a pod's end and its object's. Real ones take longer, and kubectl relies on it:
# it looks for a pod once it has deleted it, and waits in vain for one that is born again by then.
LINGER = 0.2
ATTEMPTS = 32  # addresses that may be taken by somebody else before we give up
_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


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

    async def end(self) -> None:
        self.stop.set()
        await self.ended.wait()


class Kubelet:
    """Runs the pods that ``pods`` knows of, each in a task that ``spawn`` starts."""

    def __init__(
        self,
        client: Client,
        pods: Mapping[Key, Pod],
        pod_range: str,
        start: Start,
        spawn: Spawn,
    ) -> None:
        self._client = client
        self._pods = pods
        self._start_program = start
        self._spawn = spawn
        self._clock = SystemClock()
        self._network = ipaddress.IPv4Network(pod_range)
        self._last = 0  # address given out, as a number within the range
        self._lives: dict[Key, Life] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Make what runs under ``key`` what the API says; answer when to look again, if ever."""
        pod, life = self._pods.get(key), self._lives.get(key)
        if life is not None and (pod is None or pod.metadata.uid != life.uid):
            await life.end()
            del self._lives[key]
            life = None
        if pod is None or pod.has_ended or pod.spec.node_name not in ("", NODE):
            return None
        try:
            if pod.is_terminating:
                return await self._finish(pod, life)
            if not pod.spec.node_name:
                uid = {"uid": pod.metadata.uid}
                patch = {"metadata": uid, "spec": {"nodeName": NODE}}
                await self._client.merge_patch(PODS, key, patch)
            elif life is None:
                life = await self._start(pod)
            if life and (pod.status.pod_ip, pod.status.phase) != (life.address, "Running"):
                said = {
                    "metadata": {"uid": life.uid},
                    "status": _status(pod, life, self._clock.utc()),
                }
                await self._client.merge_patch(PODS, key, said, "status")
        except NotFound:
            pass  # It is gone; the watch will say so, too.
        return None

    async def close(self) -> None:
        for life in self._lives.values():
            life.stop.set()
        for life in self._lives.values():
            await life.end()

    async def _finish(self, pod: Pod, life: Life | None) -> float | None:
        """End a pod that somebody has deleted, after the pause that it has asked for."""
        key = pod.metadata.key
        if life is not None:
            if life.ends_at is None:
                hooks = (one.lifecycle.pre_stop for one in pod.spec.containers)
                life.ends_at = self._clock.now() + max(hook.sleep.seconds for hook in hooks)
            now = self._clock.now()
            if now < life.ends_at:
                return life.ends_at - now
            await life.end()
            if now < life.ends_at + LINGER:
                return life.ends_at + LINGER - now
            del self._lives[key]
        await self._client.delete(PODS, key, Preconditions(uid=pod.metadata.uid), grace=0)
        return None

    async def _start(self, pod: Pod) -> Life:
        for address in self._addresses(pod):
            life = Life(pod.metadata.uid, address)
            started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._spawn(self._live(pod, life, started))
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
                        program = self._start_program(pod, container, life.address)
                        await stack.enter_async_context(program)
                except (OSError, IsthmusError) as error:
                    # Kept from the programs that have started: they end as they always do.
                    started.set_exception(error)
                    return
                started.set_result(None)
                await life.stop.wait()
        finally:
            life.ended.set()

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


def _status(pod: Pod, life: Life, moment: datetime) -> JsonObject:
    now = second_time(moment)
    condition = {"status": "True", "lastTransitionTime": now}
    return {
        "phase": "Running",
        "podIP": life.address,
        "podIPs": [{"ip": life.address}],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": now,
        "conditions": [{"type": name, **condition} for name in _CONDITIONS],
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
