"""Reads everything about one cluster that a check judges."""

from collections.abc import Mapping

from isthmus.cli.checking.evidence.clusters import Before, Census, Present
from isthmus.cli.checking.evidence.sites import Seen, Site, Unseen
from isthmus.cli.checking.reading import looks, rights
from isthmus.cli.checking.reading.sites import site
from isthmus.cli.installation import homes
from isthmus.install.definitions import definitions
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Selection
from isthmus.kube.resources import ENDPOINT_SLICES, GRANTS, LINKS, NAMESPACES, SERVICES
from isthmus.model.links import Link
from isthmus.model.names import GATEWAY, MANAGED_BY, MANAGER, MIRRORED
from isthmus.model.objects import Key, Namespace, Service
from isthmus.model.pages import Probe
from isthmus.model.wire import JsonObject

MOST_PROBED = 20  # links; a probe takes seconds if nobody answers


async def present(client: Client, namespace: str) -> Present:
    """Look for an installation."""
    names = [one["metadata"]["name"] for one in definitions()]
    found = await looks.all_of(_definition(client, name) for name in names)
    return Present(
        namespace=await _namespace(client, namespace),
        definitions=dict(zip(names, found, strict=True)),
        homes=await looks.seen(homes(client)),
    )


async def before(client: Client, namespace: str, there: Present) -> Before:
    """Look at what an installation would meet."""
    services = await looks.every(client, SERVICES)
    return Before(
        present=there,
        lacking=await rights.to_install(client, namespace),
        balanced=services if isinstance(services, Unseen) else _balanced(services),
    )


async def census(client: Client, context: str, namespace: str, there: Present) -> Census:
    """Look at all of an installation; ``there`` is what was seen when looking for one."""
    found = await site(client, context, namespace)
    links = await looks.every(client, LINKS)
    ours = Selection(labels=f"{MANAGED_BY}={MANAGER}")
    return Census(
        site=found,
        present=there,
        lacking=await rights.of_controller(client, namespace),
        gateway=await _gateway(client, namespace),
        links=links,
        grants=await looks.every(client, GRANTS),
        mirrors=await looks.every(client, SERVICES, Selection(labels=f"{MIRRORED}=true")),
        slices=await looks.every(client, ENDPOINT_SLICES, ours),
        probes=await _probes(client, found, () if isinstance(links, Unseen) else links),
    )


async def _probes(
    client: Client, found: Site, links: tuple[Link, ...]
) -> Mapping[str, Seen[Probe | None]]:
    """Have a controller knock at every gateway now, the first controller that can be asked."""
    asked = next((one for one in found.replicas if not isinstance(one.page, Unseen)), None)
    if asked is None:
        return {}
    pod = Key(found.namespace, asked.pod)
    names = [one.cluster for one in links][:MOST_PROBED]
    tried = await looks.all_of(
        looks.page(client, pod, f"/probe/links/{name}", Probe) for name in names
    )
    return dict(zip(names, tried, strict=True))


async def _definition(client: Client, name: str) -> Seen[JsonObject | None]:
    return await looks.one(client, KINDS["CustomResourceDefinition"], Key("", name))


async def _namespace(client: Client, name: str) -> Seen[Namespace | None]:
    return await looks.one(client, NAMESPACES, Key("", name))


async def _gateway(client: Client, namespace: str) -> Seen[Service | None]:
    return await looks.one(client, SERVICES, Key(namespace, GATEWAY))


def _balanced(services: tuple[Service, ...]) -> tuple[Service, ...]:
    return tuple(one for one in services if one.spec.type == "LoadBalancer")
