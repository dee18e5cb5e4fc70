"""The steps in the source: the mirror, where it leads, and the egress that listens there."""

from isthmus.cli.checking.checks import counted
from isthmus.cli.checking.evidence.calls import Case, Source
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.walking.meeting import down, pods, started
from isthmus.cli.checking.walking.offering import refused
from isthmus.cli.checking.walking.steps import Fix, Step, broken, ok, unknown
from isthmus.core.mirror import owner
from isthmus.model.links import Link
from isthmus.model.names import EGRESS
from isthmus.model.objects import EndpointSlice, Service
from isthmus.model.pages import HeldResource, Probe, Proxy

MIRROR, SLICE, LISTENER = "mirror", "slice", "egress"

_REFUSED, _NO_NAMESPACE = "ConnectionRefusedError", "NamespaceMissing"
_COMPLAINT = "change what Envoy complains about; it goes on with all else"
_WAYS = {
    "NameTaken": "rename or delete that Service, or change spec.naming of the Link",
    "NamespaceTerminating": "wait until the namespace is gone, and create it again",
    "NamespaceProtected": "name the namespace in allowedNamespaces of the Link, if you mean it",
    "LimitExceeded": "raise limits.services of the Link",
    "InvalidName": "change spec.naming of the Link so that it makes names of Services",
    "Forbidden": "isthmus check says which right the controller lacks here",
    "Rejected": "the API server here does not take the mirror; its message says why",
}


def mirror(case: Case) -> Step:
    """Does the Service exist that stands for the export here, and is it ours?"""
    source, link = case.source, case.link
    if isinstance(source, Unseen):
        return unknown(MIRROR, source.why)
    if link is None:
        return unknown(MIRROR, "without a Link there is none")
    found = _refusal(case, source, link) or _headless(case, source, link)
    if found is not None:
        return found
    key, made = case.called.stand_in, source.stand_in
    if isinstance(made, Unseen):
        return unknown(MIRROR, made.why)
    if made is None:
        return _absent(case, source, link)
    if owner(made.metadata) != link.uid:
        detail = f"{key} exists in {case.here} and is not the mirror of this export"
        return broken(MIRROR, "NameTaken", detail, _WAYS["NameTaken"])
    sample = ", one of its pods, is looked at" if case.called.is_sample else ""
    return ok(MIRROR, f"{key}{sample}")


def _refusal(case: Case, source: Source, link: Link) -> Step | None:
    """Why the controller makes no mirror: by its own word, or by what anybody can see."""
    why, namespace = refused(case), case.called.mirror.namespace
    if why is not None and why.reason != _NO_NAMESPACE:
        hint = _WAYS.get(why.reason, f"kubectl get link {link.cluster} -o yaml shows all refusals")
        return broken(MIRROR, why.reason, why.message or why.reason, hint)
    if why is not None or (source.namespace is None and not link.spec.create_namespaces):
        detail = f"namespace {namespace} does not exist in {case.here}"
        fix = Fix(case.kubectl(source, f"create namespace {namespace}"))
        return broken(MIRROR, _NO_NAMESPACE, why.message if why and why.message else detail, fix)
    return None


def _headless(case: Case, source: Source, link: Link) -> Step | None:
    if not case.called.hostname or link.spec.enable_headless_services:
        return None
    detail = f"Link {link.cluster} does not mirror headless Services, so that pods have no names"
    patch = """'{"spec":{"enableHeadlessServices":true}}'"""
    fix = Fix(case.kubectl(source, f"patch link {link.cluster} --type=merge -p {patch}"))
    return broken(MIRROR, "HeadlessNotEnabled", detail, fix)


def _absent(case: Case, source: Source, link: Link) -> Step:
    key = case.called.stand_in
    if case.called.hostname and isinstance(source.mirror, Service):
        detail = f"{case.called.export} shows no pod {case.called.hostname} to {case.here}"
        hint = f"is that pod running in {case.there}, under this very name?"
        return broken(MIRROR, "NoSuchPod", detail, hint)
    detail = f"there is no Service {key} in {case.here}, and no reason is given"
    hint = f"{case.kubectl(source, f'get link {link.cluster} -o yaml')} says more"
    return broken(MIRROR, "NoMirror", detail, hint)


def leads(case: Case) -> Step:
    """Do the slices of what is called lead anywhere? That nobody is ready is no fault of theirs:
    they say what they were told."""
    source = case.source
    if isinstance(source, Unseen):
        return unknown(SLICE, source.why)
    if isinstance(source.slices, Unseen):
        return unknown(SLICE, source.slices.why)
    if not isinstance(source.stand_in, Service):
        return unknown(SLICE, "without a mirror there is none")
    if not source.slices:
        detail = f"{case.called.stand_in} has no EndpointSlice in {case.here}"
        hint = "the controller makes it again at once; its log says what keeps it from that"
        return broken(SLICE, "NoSlice", detail, hint)
    stale = _astray(case, source, source.slices)
    if stale:
        detail = f"{case.called.stand_in} leads to {stale}, where no egress is"
        hint = f"compare with the egress' pods; {pods(source.site, EGRESS)}"
        return broken(SLICE, "SliceAstray", detail, hint)
    places = [one for each in source.slices for one in each.endpoints]
    ready = sum(one.conditions.ready is not False for one in places)
    return ok(SLICE, f"{ready} of {len(places)} endpoints are ready")


def _astray(case: Case, source: Source, slices: tuple[EndpointSlice, ...]) -> str:
    """Return addresses that should be the egress' and are not."""
    workload, called = source.site.workload(EGRESS), source.stand_in
    if not case.is_ours or workload is None or not isinstance(called, Service):
        return ""
    if called.spec.cluster_ip == "None":
        return ""  # leads to the mirrors of its pods
    egress = {one.status.pod_ip for one in workload.pods}
    found = {ip for each in slices for one in each.endpoints for ip in one.addresses}
    return ", ".join(sorted(found)) if found and egress and not found & egress else ""


def listens(case: Case) -> Step:
    """Does the egress run, has it taken what it was told, and does it listen?"""
    source, link = case.source, case.link
    if isinstance(source, Unseen):
        return unknown(LISTENER, source.why)
    if not case.is_ours:
        return ok(LISTENER, "not needed: the data plane of the Link is not ours")
    why = down(source.site, EGRESS)
    if why:
        detail = f"the egress of {case.here} does not run: {why}"
        return broken(LISTENER, "EgressDown", detail, started(source.site, EGRESS))
    if not source.site.pages:
        return _by_hearsay(case, source)
    proxies = source.site.proxies("egress")
    if not proxies:
        detail = f"no egress of {case.here} is connected to a controller"
        return broken(LISTENER, "EgressNotConnected", detail, pods(source.site, EGRESS))
    found = nacked(LISTENER, proxies)
    if found is not None:
        return found
    called = source.stand_in
    if not isinstance(called, Service) or called.spec.cluster_ip == "None" or link is None:
        return unknown(LISTENER, "there is nothing that it could listen for")
    if not any(page.listeners for page in source.site.pages):
        detail = f"the controller of {case.here} has no listener for {case.called.stand_in}"
        hint = "is the port recorded in the mirror's slice? The controller's log says more"
        return broken(LISTENER, "NoListener", detail, hint)
    return untold(LISTENER, proxies) or _tried(source, len(proxies))


def nacked(step: str, proxies: tuple[Proxy, ...]) -> Step | None:
    """A proxy that does not take what it was told for this Service, or that this waits for."""
    for proxy in proxies:
        bad = [one for one in proxy.resources if one.state == "refused"]
        lacks = [one for one in proxy.resources if one.state == "missing"]
        if not bad and lacks:
            bad = [
                HeldResource(type=one.type, name=one.name, state="refused", message=one.message)
                for one in proxy.refused
            ]
        if bad:
            detail = f"{proxy.name} refuses {bad[0].type} {bad[0].name}: {bad[0].message}"
            return broken(step, "ProxyRefused", detail, _COMPLAINT)
    return None


def untold(step: str, proxies: tuple[Proxy, ...]) -> Step | None:
    """A proxy that has not yet taken what it should have."""
    for proxy in proxies:
        late = [one for one in proxy.resources if one.state in ("missing", "older")]
        if late:
            detail = f"{proxy.name} has not yet taken {late[0].type} {late[0].name}"
            hint = f"ask again in a moment; if it stays so, restart pod {proxy.name}"
            return broken(step, "NotToldYet", detail, hint)
    return None


def _tried(source: Source, count: int) -> Step:
    tried = source.listening
    if isinstance(tried, Probe):
        closed = [one for one in tried.attempts if one.reason == _REFUSED]
        if closed:
            detail = f"nobody listens at {closed[0].address}:{closed[0].port}, for all it was told"
            hint = f"restart the egress; {pods(source.site, EGRESS)}"
            return broken(LISTENER, "NotListening", detail, hint)
    ports = sorted({one.port for page in source.site.pages for one in page.listeners})
    where = f"port {', '.join(map(str, ports))}"
    return ok(LISTENER, f"{counted(count, 'proxy', 'proxies')} at {where}")


def _by_hearsay(case: Case, source: Source) -> Step:
    complaint = case.condition("ProxyRefused")
    if complaint is not None:
        return broken(LISTENER, "ProxyRefused", complaint.message, _COMPLAINT)
    why = next((one.page.why for one in source.site.replicas if isinstance(one.page, Unseen)), "")
    return unknown(LISTENER, why or "no controller could be asked")
