"""Reads two clusters for a plan: what the target exports, and what the source has already."""

import msgspec
from msgspec.structs import replace

from isthmus.apps.controller.carrying.outgoing import OURS
from isthmus.cli.installation import Installation, cluster_uid
from isthmus.cli.joining import settings
from isthmus.cli.joining.forecast import Here, There
from isthmus.core.grant import permit
from isthmus.core.offer import is_offered
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Selection
from isthmus.kube.resources import ENDPOINT_SLICES, GRANTS, LINKS, NAMESPACES, SERVICES
from isthmus.model.errors import Misused, Permanent
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.links import Link
from isthmus.model.names import EGRESS, EXPORTED, SERVICE_NAME
from isthmus.model.objects import Key, Service
from isthmus.model.quoting import one_line
from isthmus.model.wire import JsonObject


class NotALink(Misused):
    """A document that is something else."""


class NoSuchLink(Permanent):
    """The source has no such Link. Says which there are, and how to plan one that is not there."""


class NoSuchService(Permanent):
    """The target has no such Service."""


class NotSelected(Permanent):
    """A Link would not import a Service, however it is marked for export."""


class LinkToSelf(Permanent):
    """Source and target are the same cluster."""


def read_link(document: JsonObject) -> Link:
    """Return the Link that a document is, checked as the API server would."""
    kind, version = document.get("kind"), document.get("apiVersion")
    if (kind, version) != (LINKS.kind, LINKS.api_version):
        raise NotALink(one_line(f"this is {kind} of {version}, not a Link", 120))
    settings.check(LINKS.kind, document)
    try:
        return msgspec.convert(document, Link)
    except msgspec.ValidationError as error:
        raise NotALink(one_line(f"this is no Link: {error}", 200)) from error


async def existing(client: Client, cluster: str) -> Link:
    """Return the Link to a cluster, or the only one if none is named."""
    found = {one.cluster: one for one in (await client.list(LINKS)).objects}
    if cluster in found:
        return found[cluster]
    if not cluster and len(found) == 1:
        return next(iter(found.values()))
    there = f"there are Links to {', '.join(sorted(found))}" if found else "there is no Link"
    which = f"to {cluster}" if cluster else "is meant"
    raise NoSuchLink(
        f"no Link {which}: {there} here; plan one that is not there yet with --link FILE, which "
        "`isthmus link` prints"
    )


async def read_here(client: Client, namespace: str) -> Here:
    """Read the source."""
    egress = Selection(namespace=namespace, labels=f"{SERVICE_NAME}={EGRESS}")
    return Here(
        own_namespace=namespace,
        namespaces=(await client.list(NAMESPACES)).objects,
        services=(await client.list(SERVICES)).objects,
        slices=(await client.list(ENDPOINT_SLICES, OURS)).objects,
        egress=(await client.list(ENDPOINT_SLICES, egress)).objects,
        links=(await client.list(LINKS)).objects,
    )


async def read_there(
    client: Client, shown: Installation, link: Link, source: str, service: Key | None
) -> There:
    """Read the target, for the cluster that is called ``source``; as if ``service``, if one is
    named, were exported already."""
    is_catalogued = link.spec.via == "gateway"
    labels = EXPORTED if is_catalogued else link.spec.selector.query
    services = {
        one.metadata.key: one
        for one in (await client.list(SERVICES, Selection(labels=labels))).objects
    }
    if service is not None:
        services[service] = exported(await _service(client, service), link)
    grants = (await client.list(GRANTS)).objects if is_catalogued else ()
    given = (permit(one, shown.mesh_domain or MESH_DOMAIN) for one in grants)
    return There(
        uid=await cluster_uid(client),
        domain=shown.cluster_domain,
        services=tuple(services.values()),
        slices=(await client.list(ENDPOINT_SLICES, Selection(labels=SERVICE_NAME))).objects,
        permits=tuple(one for one in given if one is not None and one.cluster == source)
        if is_catalogued
        else None,
    )


def exported(service: Service, link: Link) -> Service:
    """Return a Service as it is when somebody has labelled it for ``link``."""
    labels = {**service.metadata.labels, **link.spec.selector.match_labels}
    if link.spec.via == "gateway" and not is_offered(service):
        labels.setdefault(EXPORTED, "true")
    if not link.spec.selector.selects(labels):
        raise NotSelected(
            f"the selector of the Link to {link.cluster} does not pick {service.metadata.key}, "
            f"although {', '.join(f'{key}={value}' for key, value in labels.items())}"
        )
    return replace(service, metadata=replace(service.metadata, labels=labels))


def check_apart(here: Here, there: There) -> None:
    """Raise if a cluster would import from itself."""
    own = next((one for one in here.namespaces if one.metadata.name == "kube-system"), None)
    if own is not None and own.metadata.uid == there.uid:
        raise LinkToSelf("source and target are the same cluster; name two contexts")


async def _service(client: Client, key: Key) -> Service:
    try:
        return await client.get(SERVICES, key)
    except NotFound as error:
        raise NoSuchService(f"there is no Service {key}") from error
