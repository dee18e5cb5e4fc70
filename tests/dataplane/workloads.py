"""Our own workloads in clusters of tests: the pods of a real installation, each by itself.

They run in this process, where they start sooner than in processes of their own.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from isthmus import install
from isthmus.apps.proxy.config import Config, place
from isthmus.apps.proxy.run import run as launch
from isthmus.cli.running.proxy import proxy
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.processes import commanded
from isthmus.embedded.machine.programs import Site
from isthmus.embedded.mesh.program import adapted
from isthmus.install import pods
from isthmus.install.values import NAMESPACE, Issuer, Trust, Values
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.wire import JsonObject
from isthmus.pki import bundle
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair as Signer
from isthmus.pki.keys import chain_pem, key_pem
from isthmus.runtime.clock import SystemClock

SYSTEM = NAMESPACE  # where they are
WORKLOADS = frozenset((CONTROLLER, GATEWAY, EGRESS))


class Times(NamedTuple):
    """Seconds that a proxy which ends gives its callers, and those who are still to come."""

    drain: float = 1.0
    linger: float = 0.0


SHORT = Times()  # whoever calls from this machine is gone in no time


def pod(cluster: Cluster, workload: str, name: str = "", times: Times = SHORT) -> JsonObject:
    """One of our own workloads as a pod, of its own name unless another one is said."""
    values = Values(cluster_name=cluster.name, cluster_domain=cluster.domain)
    made = pods.controller(values) if workload == CONTROLLER else pods.proxy(values, workload)
    (container,) = made["spec"]["containers"]
    # What a test has ended on purpose is not started again behind its back.
    container.pop("livenessProbe", None)
    for option, seconds in times._asdict().items() if workload != CONTROLLER else ():
        container["args"] += [f"--{option}", str(seconds)]
    metadata = {**made["metadata"], "name": name or workload, "namespace": SYSTEM}
    return {"kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def installed(cluster: Cluster, trust: Trust) -> list[JsonObject]:
    """All that an installation consists of, with pods instead of Deployments."""
    values = Values(cluster_name=cluster.name, cluster_domain=cluster.domain, trust=trust)
    objects = [one for one in install.objects(values) if one["kind"] != "Deployment"]
    return [*objects, *(pod(cluster, name) for name in sorted(WORKLOADS))]


def trust(cluster: str, anchor: Signer) -> Trust:
    """The issuer of a cluster, and whom it trusts."""
    clock = SystemClock()
    issuer = create_issuer(anchor, cluster, MESH_DOMAIN, clock.utc())
    return Trust(
        anchors=bundle.of([anchor.certificate]).pem().decode(),
        issuer=Issuer(
            certificate=chain_pem(issuer.certificate).decode(), key=key_pem(issuer.key).decode()
        ),
    )


async def create(client: Client, objects: Iterable[JsonObject]) -> None:
    """Create objects, in the namespace default where they say none."""
    for obj in objects:
        kind, metadata = KINDS[obj["kind"]], obj["metadata"]
        if kind.namespaced:
            metadata = {"namespace": "default", **metadata}
        await client.create(kind, {**obj, "metadata": metadata})


async def words(site: Site) -> list[str]:
    """What the image is told in its pod."""
    return adapted((await commanded(site)).words, site.address, site.resolve)


@asynccontextmanager
async def carrying(told: list[str]) -> AsyncIterator[None]:
    """Run a proxy as ``told``."""
    stop = asyncio.Event()
    task = asyncio.create_task(launch(_config(told), SystemClock(), stop))
    try:
        yield
    finally:
        stop.set()
        await task


def _config(told: list[str]) -> Config:
    """Read options as the command does."""
    command, *rest = told
    found = proxy.make_context(command, rest).params
    found |= {name: place(name, found[name]) for name in ("controller", "ads", "metrics")}
    return Config(**found)
