"""Whether mirrors lead somewhere, and whether nothing of a former Link was left behind."""

from collections import Counter
from collections.abc import Iterator

from isthmus.cli.checking.checks import Check, counted, passed, warned
from isthmus.cli.checking.evidence.clusters import Census
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.core.mirror import owner
from isthmus.model.links import Link
from isthmus.model.names import CLUSTER, EGRESS
from isthmus.model.objects import EndpointSlice, Service, service_of

MIRRORED = "isthmus-mirrors"

_SHOWN = 3


def mirrored(found: Census) -> Iterator[Check]:
    mirrors, slices, links = found.mirrors, found.slices, found.links
    if isinstance(mirrors, Unseen) or isinstance(slices, Unseen) or isinstance(links, Unseen):
        unseen = next(one for one in (mirrors, slices, links) if isinstance(one, Unseen))
        hint = unseen.hint or "you need to list services, endpointslices and links"
        yield warned(MIRRORED, "mirrors can be read", unseen.why, hint)
        return
    known = {one.uid: one for one in links}
    yield _led(found, mirrors, slices, known)
    yield _left(mirrors, slices, known)


def _led(
    found: Census,
    mirrors: tuple[Service, ...],
    slices: tuple[EndpointSlice, ...],
    links: dict[str, Link],
) -> Check:
    title = "every mirror has a ready endpoint"
    lit = {
        key
        for one in slices
        if any(each.conditions.ready is not False for each in one.endpoints)
        for key in service_of(one)
    }
    dark = [one for one in mirrors if owner(one.metadata) in links and one.metadata.key not in lit]
    if not dark:
        return passed(MIRRORED, title, counted(len(mirrors), "mirror"))
    why = Counter(_reason(found, links[owner(one.metadata)]) for one in dark)
    names = ", ".join(str(one.metadata.key) for one in dark[:_SHOWN])
    more = f" and {len(dark) - _SHOWN} more" if len(dark) > _SHOWN else ""
    detail = f"{names}{more} have none: {'; '.join(text for text, _ in why.most_common())}"
    hint = f"isthmus why {dark[0].metadata.name} -n {dark[0].metadata.namespace} tells more"
    return warned(MIRRORED, title, detail, hint)


def _reason(found: Census, link: Link) -> str:
    """Say why a mirror of this link cannot be called, as far as this cluster knows."""
    alive = {one.type: one.status for one in link.status.conditions}.get("GatewayAlive")
    egress = found.site.workload(EGRESS)
    if link.spec.data_plane == "envoy" and egress is not None and not egress.ready:
        return "no egress runs here"
    if alive == "False":
        return f"the gateway of {link.cluster} does not answer"
    return f"no pod of the export is ready in {link.cluster}"


def _left(
    mirrors: tuple[Service, ...], slices: tuple[EndpointSlice, ...], links: dict[str, Link]
) -> Check:
    title = "nothing was left behind by a Link that is gone"
    both = [one.metadata for one in mirrors] + [one.metadata for one in slices]
    left = [one for one in both if owner(one) not in ("", *links)]
    if not left:
        return passed(MIRRORED, title)
    names = sorted({str(one.key) for one in left})
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    cluster = left[0].labels.get(CLUSTER, "CLUSTER")
    hint = f"isthmus unlink {cluster} --apply --force removes them"
    return warned(MIRRORED, title, f"{counted(len(left), 'object')} of no Link: {shown}", hint)
