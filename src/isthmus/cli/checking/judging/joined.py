"""Whether two clusters fit together: trust, clocks, names, and what each has of the other."""

from collections.abc import Iterator

from isthmus.cli.checking.checks import Check, passed, warned, wrong
from isthmus.cli.checking.evidence.clusters import Census
from isthmus.cli.checking.evidence.sites import Site, Unseen
from isthmus.cli.checking.judging.installed import addresses
from isthmus.cli.checking.walking.trusting import clocks, each_other
from isthmus.core.grant import permit
from isthmus.model.links import Link
from isthmus.model.objects import Service


def joined(one: Census, other: Census) -> Iterator[Check]:
    """Compare two clusters, and look at the links between them in both directions."""
    here, there = (each.site.name or each.site.context for each in (one, other))
    group = f"{here} and {there}"
    if one.site.uid == other.site.uid and not isinstance(one.site.uid, Unseen):
        detail = f"{one.site.context} and {other.site.context} are the same cluster"
        yield wrong(group, "they are two clusters", detail, "name another context with --to")
        return
    if here == there:
        detail = f"both are called {here}, so that their certificates mean the same"
        yield wrong(group, "they are two clusters", detail, "install one under another name")
        return
    yield from _trust(group, {here: one.site, there: other.site})
    for source, target in ((one, other), (other, one)):
        yield from _link(group, source, target)


def _trust(group: str, sites: dict[str, Site]) -> Iterator[Check]:
    title = "each trusts the certificates of the other, in every pod"
    unseen = [
        f"{name}: {seen.why}"
        for name, site in sites.items()
        for seen in (site.issuer, site.anchors)
        if isinstance(seen, Unseen)
    ]
    broken = next((step for step in each_other(sites) if step is not None), None)
    if broken is not None:
        yield wrong(group, title, broken.detail, broken.hint)
    elif unseen:
        yield warned(group, title, "; ".join(unseen), "you need to get secrets and configmaps")
    else:
        yield passed(group, title)
    title, skew = "their clocks agree", clocks(sites)
    if skew is not None:
        yield wrong(group, title, skew.detail, skew.hint)
    elif all(site.clock is not None for site in sites.values()):
        yield passed(group, title)


def _link(group: str, source: Census, target: Census) -> Iterator[Check]:
    """What is between a source and a target, if there is a Link at all."""
    here, there = source.site.name, target.site.name
    links = () if isinstance(source.links, Unseen) else source.links
    link = next((one for one in links if one.cluster == there), None)
    if link is None:
        return
    yield _same_cluster(group, here, link, target)
    yield _same_gateway(group, here, link, target)
    if link.spec.data_plane == "envoy":
        yield _granted(group, here, target)


def _same_cluster(group: str, here: str, link: Link, target: Census) -> Check:
    title = f"the Link of {here} leads to {link.cluster}"
    known, uid = link.status.cluster_uid, target.site.uid
    if isinstance(uid, Unseen):
        return warned(group, title, uid.why, "you need to get the namespace kube-system")
    if known and known != uid:
        detail = f"it was pinned to a cluster of UID {known}, and {link.cluster} has {uid}"
        hint = "if it was rebuilt on purpose, clear status.clusterUID of the Link"
        return wrong(group, title, detail, hint)
    return passed(group, title, known and f"UID {known}")


def _same_gateway(group: str, here: str, link: Link, target: Census) -> Check:
    title = f"the Link of {here} names the address of {link.cluster}'s gateway"
    service = target.gateway
    if not isinstance(service, Service):
        why = service.why if isinstance(service, Unseen) else "there is no Service of the gateway"
        return warned(group, title, why, "isthmus check there tells more")
    there, named = addresses(service), link.spec.gateway.addresses
    if not there or set(named) & {*there, *service.spec.cluster_ips}:
        return passed(group, title, ", ".join(named))
    detail = f"the Link names {', '.join(named) or 'nothing'}, the Service {', '.join(there)}"
    hint = "another way to it may be meant; else: isthmus link --apply brings the Service's"
    return warned(group, title, detail, hint)


def _granted(group: str, here: str, target: Census) -> Check:
    there = target.site.name
    title = f"{there} has a Grant for {here}"
    if isinstance(target.grants, Unseen):
        hint = target.grants.hint or "you need to list grants"
        return warned(group, title, target.grants.why, hint)
    domain = target.site.issues_for.partition(".")[2]
    given = [one for one in target.grants if one.spec.cluster == here and permit(one, domain)]
    if given:
        return passed(group, title, ", ".join(one.name for one in given))
    hint = f"isthmus --context {target.site.context} allow {here} --apply"
    return wrong(group, title, f"no Grant of {there} is for {here}", hint)
