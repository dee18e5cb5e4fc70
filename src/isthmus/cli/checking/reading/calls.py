"""Reads everything that lies in the way of one call, in the source and in the target."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from isthmus.cli.checking.evidence.calls import Called, Case, Source, Target
from isthmus.cli.checking.evidence.sites import Seen, Site, Unseen
from isthmus.cli.checking.reading import looks
from isthmus.cli.checking.reading.sites import site
from isthmus.cli.checking.walking import meaning
from isthmus.cli.checking.walking.meaning import Typed, Unclear
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import (
    ENDPOINT_SLICES,
    GRANTS,
    LINKS,
    NAMESPACES,
    SERVICES,
)
from isthmus.model.links import Link
from isthmus.model.names import GATEWAY, SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service
from isthmus.model.pages import Probe


@dataclass(frozen=True, slots=True)
class End:
    """The way to one of the clusters."""

    context: str
    client: Client
    namespace: str  # of Isthmus there


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Both clusters, as far as they can be reached. ``find`` looks for the target of a Link by
    its name, if nobody has named a context for it."""

    source: End | Unseen
    target: End | Unseen | None
    find: Callable[[str, str], Awaitable[End | Unseen]]
    source_name: str = ""
    target_name: str = ""


async def case(ends: Ends, asked: Typed, account: str = "") -> Case:
    """Find out what is asked about, and look at all of it."""
    links = await _links(ends.source)
    # Without its Links, nothing in a source means anything.
    source = links if isinstance(links, Unseen) else ends.source
    mirror = await _service(source, asked.key)
    meant = meaning.stands_for(mirror) if isinstance(mirror, Service) else None
    known = () if isinstance(links, Unseen) else links
    wanted = meant.cluster if meant else await _target_name(ends)
    link = meaning.linked(asked.service, known, wanted)
    name = link.cluster if link else wanted
    target = ends.target
    if target is None:
        _require_named(name, asked, links)
        target = await ends.find(name, link.status.cluster_uid if link else "")
    export = meant.export if meant else await _export(target, asked, link, name)
    hostname = asked.hostname or (meant.hostname if meant else "")
    sample = "" if hostname else await _sample(source, export, link)
    mirror_key, stand_in = meaning.local(export, hostname or sample, link, name or "target")
    called = Called(
        export=export,
        hostname=hostname or sample,
        mirror=mirror_key,
        stand_in=stand_in,
        account=account,
        is_sample=bool(sample),
    )
    async with asyncio.TaskGroup() as group:
        here = group.create_task(_source(source, called, links, link))
        there = group.create_task(_target(target, called))
    return Case(
        called=called,
        source_name=ends.source_name if isinstance(source, Unseen) else _name(here.result()),
        target_name=name or _name(there.result()),
        source=here.result(),
        target=there.result(),
    )


async def _target_name(ends: Ends) -> str:
    """Return what the target is called, if anybody has named it: a context may have any name."""
    if not isinstance(ends.target, End):
        return ends.target_name
    found = await site(ends.target.client, ends.target.context, ends.target.namespace)
    return found.name or ends.target_name


async def _source(
    end: End | Unseen, called: Called, links: Seen[tuple[Link, ...]], link: Link | None
) -> Source | Unseen:
    if isinstance(end, Unseen):
        return end
    found = await site(end.client, end.context, end.namespace, called.stand_in)
    return Source(
        site=found,
        links=links,
        link=link,
        namespace=await _namespace(end, called.mirror.namespace),
        mirror=await _service(end, called.mirror),
        stand_in=await _service(end, called.stand_in),
        slices=await _slices(end, called.stand_in),
        probe=await _probed(end, found, f"links/{link.cluster}" if link else ""),
        listening=await _probed(
            end, found, f"mirrors/{called.stand_in.namespace}/{called.stand_in.name}"
        ),
    )


async def _target(end: End | Unseen, called: Called) -> Target | Unseen:
    if isinstance(end, Unseen):
        return end
    return Target(
        site=await site(end.client, end.context, end.namespace, called.export),
        service=await _service(end, called.export),
        slices=await _slices(end, called.export),
        grants=await looks.every(end.client, GRANTS),
        gateway=await _service(end, Key(end.namespace, GATEWAY)),
    )


async def _probed(end: End, found: Site, what: str) -> Seen[Probe | None]:
    """Have a controller try the way, the first that can be asked."""
    if not what:
        return None
    for one in found.replicas:
        if not isinstance(one.page, Unseen):
            pod = Key(end.namespace, one.pod)
            return await looks.page(end.client, pod, f"/probe/{what}", Probe)
    why = (one.page.why for one in found.replicas if isinstance(one.page, Unseen))
    return Unseen(next(why, f"no controller runs in {end.context}"))


async def _links(end: End | Unseen) -> Seen[tuple[Link, ...]]:
    return end if isinstance(end, Unseen) else await looks.every(end.client, LINKS)


async def _service(end: End | Unseen, key: Key) -> Seen[Service | None]:
    if isinstance(end, Unseen):
        return end
    return await looks.one(end.client, SERVICES, key)


async def _namespace(end: End, name: str) -> Seen[Namespace | None]:
    return await looks.one(end.client, NAMESPACES, Key("", name))


async def _slices(end: End, key: Key) -> Seen[tuple[EndpointSlice, ...]]:
    labels = f"{SERVICE_NAME}={key.name}"
    selection = Selection(namespace=key.namespace, labels=labels)
    return await looks.every(end.client, ENDPOINT_SLICES, selection)


def _require_named(cluster: str, asked: Typed, links: Seen[tuple[Link, ...]]) -> None:
    """Raise where neither the user nor a Link says what the target is; Links that cannot be seen
    are a trouble of their own."""
    if not cluster and not isinstance(links, Unseen):
        raise Unclear(
            f"there is no Link here that would say of which cluster {asked.service} is; "
            "name the target with --to"
        )


async def _export(target: End | Unseen, asked: Typed, link: Link | None, cluster: str) -> Key:
    """Return which export is meant: the first candidate that the target has, or that the Link
    speaks of; the likeliest, if none is known."""
    names = meaning.candidates(asked.service, link, cluster)
    keys = [Key(asked.namespace, name) for name in names]
    refused = {(one.namespace, one.name) for one in link.status.refused} if link else set()
    for key in keys:
        if key in refused or isinstance(await _service(target, key), Service):
            return key
    return keys[0]


async def _sample(end: End | Unseen, export: Key, link: Link | None) -> str:
    """Return a pod of a set to look at, where the whole set is asked about: its first."""
    if isinstance(end, Unseen) or link is None:
        return ""
    mirror, _ = meaning.local(export, "", link, link.cluster)
    found = await _service(end, mirror)
    if not isinstance(found, Service) or found.spec.cluster_ip != "None":
        return ""
    slices = await _slices(end, mirror)
    members = () if isinstance(slices, Unseen) else slices
    names = {one.hostname for each in members for one in each.endpoints if one.hostname}
    return min(names, key=lambda name: (len(name), name), default="")


def _name(side: Source | Target | Unseen) -> str:
    return "" if isinstance(side, Unseen) else side.site.name
