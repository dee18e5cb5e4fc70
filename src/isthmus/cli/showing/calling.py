"""``isthmus demo call``: from a pod's name and a URL to what was answered."""

import os
from collections.abc import Mapping
from pathlib import Path

from isthmus.embedded.machine.ports import permitted
from isthmus.embedded.mesh import calls
from isthmus.embedded.mesh.blocks import domain
from isthmus.embedded.mesh.calls import Answer
from isthmus.kube import kubeconfig
from isthmus.kube.client import Client
from isthmus.kube.http import HttpTransport
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.model.syntax import is_dns_label
from isthmus.runtime.clock import SystemClock


class NoPod(Permanent):
    """What was typed does not name a pod."""


def caller(text: str) -> tuple[str, Key]:
    """Return the cluster and the pod that ``east/curl``, or ``east/default/curl``, names."""
    cluster, *place = text.split("/")
    if not 1 <= len(place) <= 2 or not all(map(is_dns_label, (cluster, *place))):
        raise NoPod(f"{text[:80]!r}: name a pod by its cluster and its name, as in east/curl")
    return cluster, Key(place[0] if len(place) == 2 else "default", place[-1])


async def call(clients: Mapping[str, Client], pod: str, url: str) -> Answer:
    """Call ``url`` as ``pod`` does."""
    cluster, key = caller(pod)
    who = await calls.caller(clients[cluster], key, domain(cluster), permitted())
    return await calls.call(who, url)


async def from_outside(file: str | None, pod: str, url: str) -> Answer:
    """Call ``url`` as a pod of a demo that runs in another process."""
    cluster, _ = caller(pod)
    files = kubeconfig.find(file, os.environ, Path.home())
    access = kubeconfig.load(files, SystemClock(), context=cluster)
    client = Client(HttpTransport(await kubeconfig.settled(access)), access.credentials)
    try:
        return await call({cluster: client}, pod, url)
    finally:
        await client.close()
