"""Runs the cluster's pods: gives each an address, and writes what becomes of it."""

import errno
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from isthmus.embedded.machine.contents import NothingToMount
from isthmus.embedded.machine.life import Equipment, Life
from isthmus.embedded.machine.objects import PODS, Pod
from isthmus.embedded.machine.streams import Spawn
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Preconditions
from isthmus.model.errors import Transient
from isthmus.model.objects import Key
from isthmus.runtime.clock import GRAIN

NODE = "machine"
# Seconds between a pod's end and its object's. Real ones take longer, and kubectl relies on it:
# it looks for a pod once it has deleted it, and waits in vain for one that is born again by then.
LINGER = 0.2
CLOSING = 1.0  # seconds for pods to end when the machine does
ATTEMPTS = 32  # addresses that may be taken by somebody else before we give up


class NotStarted(Transient):
    """A pod could not get an address."""


class Kubelet:
    """Runs the pods that ``pods`` knows of, each in a task that ``spawn`` starts.

    ``again`` is told which pod has to be looked at, because something has become of it.
    """

    def __init__(
        self,
        pods: Mapping[Key, Pod],
        pod_range: str,
        equipment: Equipment,
        spawn: Spawn,
        again: Callable[[Key], None],
    ) -> None:
        self._client: Client = equipment.stores.client
        self._pods = pods
        self._equipment = equipment
        self._clock = equipment.stores.clock
        self._spawn = spawn
        self._again = again
        self._network = ipaddress.IPv4Network(pod_range)
        self._last = 0  # address given out, as a number within the range
        self._lives: dict[Key, Life] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Make what runs under ``key`` what the API says; answer when to look again, if ever."""
        pod, life = self._pods.get(key), self._lives.get(key)
        if life is not None and (pod is None or pod.metadata.uid != life.uid):
            life.stop(0)
            if life.ended_at is None:
                return None  # we are told when it has
            del self._lives[key]
            life = None
        if pod is None or pod.has_ended or pod.spec.node_name not in ("", NODE):
            return None
        try:
            if pod.is_terminating:
                return await self._finish(pod, life)
            if not pod.spec.node_name:
                patch = {"metadata": {"uid": pod.metadata.uid}, "spec": {"nodeName": NODE}}
                await self._client.merge_patch(PODS, key, patch)
                return None
            return await self._keep(pod, life or await self._start(pod))
        except NotFound:
            return None  # It is gone; the watch will say so, too.

    async def close(self) -> None:
        for life in self._lives.values():
            life.stop(CLOSING)
        for life in self._lives.values():
            await life.ended.wait()

    async def _keep(self, pod: Pod, life: Life) -> float | None:
        """Let the pod's files and its status be those that they should be."""
        try:
            due = await life.volumes.refresh()
        except NothingToMount:
            due = None  # what is there stays
        status = life.status()
        if status != life.said:
            said = {"metadata": {"uid": life.uid}, "status": status}
            await self._client.merge_patch(PODS, pod.metadata.key, said, "status")
            life.said = status
        return due

    async def _finish(self, pod: Pod, life: Life | None) -> float | None:
        """End a pod that somebody has deleted, after the pause that it has asked for."""
        key, now = pod.metadata.key, self._clock.now()
        if life is not None:
            hooks = (one.lifecycle.pre_stop for one in pod.spec.containers)
            pause = min(max(hook.sleep.seconds for hook in hooks), pod.grace)
            if life.stops_at is None:
                life.stops_at = now + pause
            if now < life.stops_at - GRAIN:
                return life.stops_at - now
            life.stop(life.stops_at - pause + pod.grace - now)
            if life.ended_at is None:
                return None  # we are told when it has
            if now < life.ended_at + LINGER - GRAIN:
                return life.ended_at + LINGER - now
            del self._lives[key]
        await self._client.delete(PODS, key, Preconditions(uid=pod.metadata.uid), grace=0)
        return None

    async def _start(self, pod: Pod) -> Life:
        key = pod.metadata.key
        for address in self._addresses(pod):
            life = Life(pod, address, self._equipment, partial(self._again, key))
            self._spawn(life.run())
            try:
                await life.begun()
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise
            self._lives[key] = life
            return life
        raise NotStarted(
            f"pod {key}: no address of {self._network} has its ports free; "
            "does something listen on all addresses?"
        )

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
