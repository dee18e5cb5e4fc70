"""The first steps, in the target: is the Service exported, wanted by the Link, and granted?"""

from shlex import quote

from isthmus.cli.checking.evidence.calls import Case, Target
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.walking.steps import Fix, Step, broken, ok, unknown
from isthmus.core import grant
from isthmus.core.export import digest
from isthmus.core.offer import is_offered
from isthmus.model.exports import Export, Refused
from isthmus.model.grants import Grant
from isthmus.model.identities import Identity
from isthmus.model.links import RefusedExport
from isthmus.model.names import EXPORTED, LINK_UID
from isthmus.model.objects import Service
from isthmus.model.routes import Callers
from isthmus.model.selectors import Selector

EXPORT, SELECTOR, GRANT = "export", "selector", "grant"

_UNFIT = {
    "NoTCPPorts": "only TCP is carried: give the Service a TCP port, or reach it another way",
    "NoPorts": "give the Service the ports that are to be called",
    "ExternalName": "export the Service that it stands for, in the cluster where that has pods",
    "IsMirror": "export the original, in the cluster where it is, and link that one",
    "InvalidName": "give the Service a name that is a DNS label",
    "InvalidPort": "give each port of the Service a name and a number of its own",
}


def refused(case: Case) -> RefusedExport | None:
    """Return why the Link's controller does not mirror the export, if it says so."""
    link = case.link
    for one in link.status.refused if link else ():
        if (one.namespace, one.name) == case.called.export:
            return one
    return None


def export(case: Case) -> Step:
    """Is there such a Service, is it marked for export, and can it be exported?"""
    key, target = case.called.export, case.target
    if isinstance(target, Unseen):
        return _export_by_hearsay(case, target)
    if isinstance(target.service, Unseen):
        return unknown(EXPORT, target.service.why)
    if target.service is None:
        detail = f"there is no Service {key} in {case.there}"
        shown = case.kubectl(target, f"-n {key.namespace} get services")
        return broken(EXPORT, "NoService", detail, f"correct the name, or create it; see {shown}")
    if not is_offered(target.service):
        words = f"-n {key.namespace} label service {key.name} {EXPORTED}=true --overwrite"
        fix = Fix(case.kubectl(target, words))
        return broken(EXPORT, "NotLabelled", _unlabelled(case, target.service), fix)
    slices = () if isinstance(target.slices, Unseen) else target.slices
    found = digest(target.service, slices)
    if isinstance(found, Refused):
        return broken(EXPORT, found.reason, _about(case, found.message), _way(found.reason))
    if case.called.hostname and not found.headless:
        detail = f"{key} in {case.there} is not headless: its pods have no names of their own"
        return broken(EXPORT, "NotHeadless", detail, "call the Service, not one of its pods")
    return ok(EXPORT, _ports(found, target.service))


def _export_by_hearsay(case: Case, target: Unseen) -> Step:
    """What the source shows of an export in a cluster that cannot be looked at."""
    why = refused(case)
    if why is not None and why.reason in _UNFIT:
        return broken(EXPORT, why.reason, _about(case, why.message), _way(why.reason))
    if _is_mirrored(case):
        return ok(EXPORT, f"it has a mirror; {case.there} itself was not looked at: {target.why}")
    return unknown(EXPORT, target.why)


def selector(case: Case) -> Step:
    """Does the Link want it?"""
    link, target = case.link, case.target
    if link is None:
        return unknown(SELECTOR, "there is no Link that would say what is wanted")
    wanted = _shown(link.spec.selector)
    if isinstance(target, Unseen) or not isinstance(target.service, Service):
        if _is_mirrored(case):
            return ok(SELECTOR, wanted)
        return unknown(SELECTOR, f"the labels of the Service are not known; wanted: {wanted}")
    labels = target.service.metadata.labels
    if link.spec.selector.selects(labels):
        return ok(SELECTOR, wanted)
    has = ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"
    detail = f"Link {link.cluster} imports {wanted}; the labels of {case.called.export} are: {has}"
    hint = f"label the Service so, or change spec.selector of Link {link.cluster}"
    return broken(SELECTOR, "NotSelected", detail, hint)


def granted(case: Case) -> Step:
    """May the source see it, and may the caller call it?"""
    link, target = case.link, case.target
    if link is not None and link.spec.data_plane != "envoy":
        return ok(GRANT, f"not needed: the data plane of Link {link.cluster} is not ours")
    if isinstance(target, Unseen):
        return _grant_by_hearsay(case, target)
    if isinstance(target.grants, Unseen):
        return _grant_by_hearsay(case, target.grants)
    if not case.source_name:
        return unknown(GRANT, "which cluster calls is not known; name it with --from")
    return _judged(case, target, target.grants)


def _grant_by_hearsay(case: Case, why: Unseen) -> Step:
    connected = case.condition("Connected")
    if connected is not None and connected.reason == "Forbidden":
        return broken(GRANT, "NoGrant", connected.message, _first(case))
    if _is_mirrored(case) and not case.called.account:
        return ok(GRANT, f"{case.there} shows it to {case.here}, so that some Grant does")
    return unknown(GRANT, why.why)


def _judged(case: Case, target: Target, grants: tuple[Grant, ...]) -> Step:
    key, domain = case.called.export, case.mesh_domain
    ours = [one for one in grants if one.spec.cluster == case.source_name]
    permits = {one.name: grant.permit(one, domain) for one in ours}
    if not any(permits.values()):
        wrong = next((why for one in ours if (why := grant.problem(one)) is not None), "")
        if wrong:
            detail = f"{case.there} has a Grant for {case.here} that cannot be understood: {wrong}"
            return broken(GRANT, "GrantMalformed", detail, "mend the Grant as the message says")
        others = ", ".join(sorted({one.spec.cluster for one in grants})) or "nobody"
        detail = f"{case.there} has no Grant for {case.here}; it has one for: {others}"
        return broken(GRANT, "NoGrant", detail, _first(case))
    labels = target.service.metadata.labels if isinstance(target.service, Service) else {}
    covering = {
        name: one.callers for name, one in permits.items() if one and one.covers(key, labels)
    }
    if not covering:
        names = ", ".join(sorted(name for name, one in permits.items() if one))
        detail = f"no Grant for {case.here} is about {key}; there is: {names}"
        more = f" --name {case.here}-{key.name} --to-service {key}"
        return broken(GRANT, "NotGranted", detail, _allow(case, more))
    if not any(one != Callers() for one in covering.values()):
        detail = f"Grant {min(covering)} names nobody of {case.here} who may call"
        return broken(GRANT, "NobodyGranted", detail, "name callers under from, or leave it out")
    return _callers(case, covering)


def _callers(case: Case, covering: dict[str, Callers]) -> Step:
    exact = sorted({each for one in covering.values() for each in one.exact})
    prefixes = sorted({each for one in covering.values() for each in one.prefixes})
    allowed = ", ".join((*exact, *(f"{one}*" for one in prefixes)))
    account = case.called.account
    if not account:
        return ok(GRANT, f"by {', '.join(sorted(covering))}, for {allowed}")
    namespace, _, name = account.partition("/")
    who = str(Identity(case.source_name, case.mesh_domain, namespace, name))
    if who in exact or any(who.startswith(one) for one in prefixes):
        return ok(GRANT, f"by {', '.join(sorted(covering))}, for {who}")
    detail = f"the Grants of {case.there} let {allowed} call {case.called.export}, but not {who}"
    # Under a name of its own: one of the same name would take the place of what is there.
    more = f" --name {case.here}-{name} --from-service-account {account}"
    return broken(GRANT, "AccountNotGranted", detail, _allow(case, more))


def _first(case: Case) -> Fix | str:
    """Return how to make the first Grant, for what is asked about and not for more."""
    key, account = case.called.export, case.called.account
    more = f" --to-service {key}" + (f" --from-service-account {account}" if account else "")
    who = f"{account} of {case.here}" if account else f"everybody in {case.here}"
    note = f"it lets {who} call {key} and nothing else; leave options out to allow more"
    return _allow(case, more, note)


def _allow(case: Case, more: str, note: str = "") -> Fix | str:
    words = f"allow {quote(case.here)}{more} --apply"
    if isinstance(case.target, Unseen):
        return f"in the context of {case.there}: isthmus {words}" + (f" ({note})" if note else "")
    return Fix(f"isthmus --context {quote(case.target.site.context)} {words}", note)


def _is_mirrored(case: Case) -> bool:
    """Tell whether the source has a mirror of it, made for this Link and up to date."""
    source, link, synced = case.source, case.link, case.condition("Synced")
    if isinstance(source, Unseen) or link is None or not isinstance(source.mirror, Service):
        return False
    ours = source.mirror.metadata.annotations.get(LINK_UID) == link.uid
    return ours and synced is not None and synced.status == "True"


def _unlabelled(case: Case, service: Service) -> str:
    value = service.metadata.labels.get(EXPORTED)
    said = "is not labelled for export" if value is None else f"says {EXPORTED}={value}"
    return f"Service {case.called.export} of {case.there} {said}"


def _about(case: Case, message: str) -> str:
    return f"{case.called.export} of {case.there} cannot be exported: {message}"


def _way(reason: str) -> str:
    return _UNFIT.get(reason, "change the Service as the message says")


def _ports(found: Export, service: Service) -> str:
    ports = ", ".join(f"{one.name or 'port'} {one.port}" for one in found.ports)
    left = [f"{one.port}/{one.protocol}" for one in service.spec.ports if one.protocol != "TCP"]
    return f"{ports}; not carried, for it is not TCP: {', '.join(left)}" if left else ports


def _shown(wanted: Selector) -> str:
    if not wanted.match_labels and not wanted.match_expressions:
        return "nothing at all (an empty selector)"
    return wanted.query
