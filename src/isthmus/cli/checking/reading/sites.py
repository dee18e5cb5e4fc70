"""Reads one cluster: what it shows of Isthmus, whoever asks and whatever about."""

import asyncio
from collections.abc import Mapping

from cryptography import x509

from isthmus.apps.controller.certifying.trust import Unusable, read_anchors, read_issuer
from isthmus.cli.checking.evidence.objects import DEPLOYMENTS, PODS, Deployment, Pod, tag
from isthmus.cli.checking.evidence.sites import ROLES, Replica, Seen, Site, Unseen, Workload
from isthmus.cli.checking.reading import looks
from isthmus.install.parts import VERSION
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS, LEASES, NAMESPACES, SECRETS
from isthmus.model.names import CONTROLLER, ISSUER, TRUST, TRUST_SEEN
from isthmus.model.objects import Key, Lease
from isthmus.model.pages import Proxies
from isthmus.pki import reports
from isthmus.pki.bundle import Bundle
from isthmus.pki.reports import News
from isthmus.runtime.clock import Clock, SystemClock


async def site(
    client: Client,
    context: str,
    namespace: str,
    service: Key | None = None,
    clock: Clock | None = None,
) -> Site:
    """Look at a cluster; and at how its proxies stand to one ``service``, if it is named."""
    clock = clock or SystemClock()
    at = clock.utc()
    async with asyncio.TaskGroup() as group:
        uid = group.create_task(_uid(client))
        running = group.create_task(_workloads(client, namespace))
        issuer = group.create_task(_issuer(client, Key(namespace, ISSUER), context))
        anchors = group.create_task(_anchors(client, Key(namespace, TRUST)))
        news = group.create_task(_news(client, Key(namespace, TRUST_SEEN)))
        lease = group.create_task(_lease(client, Key(namespace, CONTROLLER)))
    workloads = running.result()
    replicas = await _replicas(client, namespace, workloads, service, clock)
    return Site(
        context=context,
        namespace=namespace,
        at=at,
        ahead=client.clock_skew,
        uid=uid.result(),
        workloads=workloads,
        issuer=issuer.result(),
        anchors=anchors.result(),
        news=news.result(),
        lease=lease.result(),
        replicas=replicas,
    )


async def _replicas(
    client: Client,
    namespace: str,
    workloads: Seen[Mapping[str, Workload]],
    service: Key | None,
    clock: Clock,
) -> tuple[Replica, ...]:
    """Ask every controller that runs: each knows only the proxies that are connected to it."""
    if isinstance(workloads, Unseen):
        return ()
    path = "/proxies" if service is None else f"/proxies/{service.namespace}/{service.name}"

    async def asked(pod: str) -> Replica:
        found = await looks.page(client, Key(namespace, pod), path, Proxies)
        if found is None:
            found = Unseen(f"pod {pod} has no page {path}; is the controller of another version?")
        return Replica(pod, found, clock.utc())

    ready = [one.metadata.name for one in workloads[CONTROLLER].pods if one.is_ready]
    return await looks.all_of(asked(name) for name in ready)


async def _workloads(client: Client, namespace: str) -> Seen[Mapping[str, Workload]]:
    whole = Selection(namespace=namespace)
    deployments = await looks.every(client, DEPLOYMENTS, whole)
    pods = await looks.every(client, PODS, whole)
    if isinstance(pods, Unseen):
        return pods
    known = () if isinstance(deployments, Unseen) else deployments
    made = {one.metadata.name: one for one in known}
    return {name: _workload(name, made.get(name), pods) for name in ROLES}


def _workload(name: str, made: Deployment | None, pods: tuple[Pod, ...]) -> Workload:
    own = tuple(one for one in pods if one.spec.service_account_name == name)
    containers = (
        made.spec.template.spec.containers if made else own[0].spec.containers if own else ()
    )
    return Workload(
        name=name,
        wanted=made.spec.replicas if made else None,
        version=_version(made, containers[0].image if containers else ""),
        containers=containers,
        pods=own,
    )


def _version(made: Deployment | None, image: str) -> str:
    """Return what the Deployment says, else the tag of the image."""
    said = made.metadata.labels.get(VERSION, "") if made else ""
    return said or tag(image)


async def _uid(client: Client) -> Seen[str]:
    found = await looks.one(client, NAMESPACES, Key("", "kube-system"))
    if isinstance(found, Unseen):
        return found
    return found.metadata.uid if found else Unseen("there is no namespace kube-system")


async def _issuer(client: Client, key: Key, context: str) -> Seen[x509.Certificate | Unusable]:
    """Return the certificate; the key stays where it is."""
    found = await looks.one(client, SECRETS, key)
    if isinstance(found, Unseen):
        return found
    pair = read_issuer(found, key, context)
    return pair if isinstance(pair, Unusable) else pair.certificate


async def _anchors(client: Client, key: Key) -> Seen[Bundle | Unusable]:
    found = await looks.one(client, CONFIG_MAPS, key)
    return found if isinstance(found, Unseen) else read_anchors(found, key)


async def _news(client: Client, key: Key) -> Seen[News]:
    found = await looks.one(client, CONFIG_MAPS, key)
    return found if isinstance(found, Unseen) else reports.news(found.data if found else {})


async def _lease(client: Client, key: Key) -> Seen[Lease | None]:
    return await looks.one(client, LEASES, key)
