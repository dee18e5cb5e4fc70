"""What somebody means by a name: an export, its mirror, or one of its pods, as it can be typed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.core import naming
from isthmus.model.errors import Permanent
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.names import CLUSTER, MIRRORED, REMOTE_NAME
from isthmus.model.objects import Key, Service
from isthmus.model.quoting import one_line
from isthmus.model.syntax import is_dns_label

_SCHEME = re.compile(r"[a-z0-9+.-]+://")


class Unclear(Permanent):
    """A name that means nothing, or more than one thing. Says how to say it."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A name as it was typed, taken apart as far as its own form allows."""

    service: str
    namespace: str
    hostname: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.service)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a mirror says that it stands for."""

    cluster: str
    export: Key
    hostname: str = ""


def typed(text: str, namespace: str) -> Typed:
    """Take apart what was typed: ``web``, ``web-west``, ``pod.set-west``, or a whole name or URL
    as a caller has it."""
    host = _SCHEME.sub("", text, count=1).partition("/")[0].partition(":")[0].rstrip(".")
    labels = host.lower().split(".")
    if not all(map(is_dns_label, labels)):
        raise Unclear(f"{one_line(text, 120)!r} is not the name of a Service")
    if "svc" in labels[2:]:
        end = labels.index("svc", 2)
        labels, namespace = labels[: end - 1], labels[end - 1]
    match labels:
        case [service]:
            return Typed(service, namespace)
        case [hostname, service]:
            return Typed(service, namespace, hostname)
    raise Unclear(
        f"{one_line(text, 120)!r} has too many dots; type the Service (web), a pod of it "
        "(web-0.web), or the whole name, with .svc"
    )


def stands_for(mirror: Service) -> Meaning | None:
    """Return what a mirror stands for by its own word; None if it is no mirror."""
    metadata = mirror.metadata
    remote = metadata.annotations.get(REMOTE_NAME, "")
    if metadata.labels.get(MIRRORED) != "true" or ".svc." not in remote:
        return None
    *hostname, service, namespace = ("", *remote.partition(".svc.")[0].split("."))[-3:]
    cluster = metadata.labels.get(CLUSTER, "")
    return Meaning(cluster, Key(namespace, service), "".join(hostname))


def linked(name: str, links: Sequence[Link], to: str) -> Link | None:
    """Return the Link that a name is about, if there is one; raise if it may be several."""
    if to:
        return next((one for one in links if one.cluster == to), None)
    fitting = [one for one in links if _originals(name, one)]
    found = fitting if len(fitting) == 1 else links
    if len(found) > 1:
        raise Unclear(
            f"{name} may be of any of {', '.join(one.cluster for one in found)}; "
            "name the target with --to"
        )
    return next(iter(found), None)


def candidates(name: str, link: Link | None, cluster: str) -> tuple[str, ...]:
    """Return which exports may be meant, the likeliest first: that whose mirror would be called
    so, then that which is called so itself. Without a Link, mirrors are called as most are."""
    if link is not None:
        originals = _originals(name, link)
    else:
        original = name.removesuffix(f"-{cluster}") if cluster else ""
        originals = (original,) if original else ()
    return tuple(dict.fromkeys((*originals, name)))


def local(export: Key, hostname: str, link: Link | None, cluster: str) -> tuple[Key, Key]:
    """Return what the mirror is called, and what is called for the pod, or for the whole."""
    if link is None:
        name = Key(export.namespace, f"{export.name}-{cluster}")
        return name, Key(export.namespace, f"{hostname}-{cluster}") if hostname else name
    bare = Export(namespace=export.namespace, name=export.name, uid="", version="", ports=())
    mirror = Key(export.namespace, naming.mirror_name(bare, link))
    if not hostname or not link.spec.enable_headless_services:
        return mirror, mirror
    return mirror, Key(export.namespace, naming.endpoint_mirror_name(bare, hostname, link))


def _originals(name: str, link: Link) -> tuple[str, ...]:
    """Return what an export would be called whose mirror has this name. A guess, to look it up."""
    parts = re.split(r"(\{service\}|\{cluster\})", link.spec.naming)
    pattern = "".join(_pattern(parts, link))
    found = re.fullmatch(pattern, name)
    return (found["service"],) if found and "service" in found.groupdict() else ()


def _pattern(parts: Sequence[str], link: Link) -> Iterator[str]:
    seen = False
    for part in parts:
        if part == "{service}":
            yield "(?P=service)" if seen else "(?P<service>.+)"
            seen = True
        else:
            yield re.escape(link.cluster if part == "{cluster}" else part)
