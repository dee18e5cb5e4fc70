"""The last steps, in the target: has the gateway a route, and is anybody behind it?"""

from isthmus.cli.checking.checks import counted
from isthmus.cli.checking.evidence.calls import Case, Target
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.walking.meeting import pods
from isthmus.cli.checking.walking.mirroring import nacked, untold
from isthmus.cli.checking.walking.steps import Step, broken, ok, unknown
from isthmus.model.names import GATEWAY
from isthmus.model.objects import Endpoint, Service

ROUTE, ENDPOINTS = "route", "endpoints"


def route(case: Case) -> Step:
    """Has the gateway taken a route for the export?"""
    target = case.target
    if isinstance(target, Unseen):
        return unknown(ROUTE, target.why)
    if not case.is_ours:
        return ok(ROUTE, "not needed: the data plane of the Link is not ours")
    if not target.site.pages:
        replicas = target.site.replicas
        why = next((one.page.why for one in replicas if isinstance(one.page, Unseen)), "")
        return unknown(ROUTE, why or f"no controller of {case.there} could be asked")
    proxies = target.site.proxies("gateway")
    if not proxies:
        detail = f"no gateway of {case.there} is connected to a controller"
        return broken(ROUTE, "GatewayNotConnected", detail, pods(target.site, GATEWAY))
    found = nacked(ROUTE, proxies)
    if found is not None:
        return found
    routes = [one for page in target.site.pages for one in page.routes]
    if not routes:
        detail = f"the controller of {case.there} gives the gateway no route to {_export(case)}"
        hint = "a Service that is exported and granted has one; its controller's log says more"
        return broken(ROUTE, "NoRoute", detail, hint)
    late = untold(ROUTE, proxies)
    named = [one for one in routes if one.authority.startswith(f"{case.called.hostname}.")]
    where = (named or routes)[0].authority
    return late or ok(ROUTE, f"to {where}, at {counted(len(proxies), 'gateway')}")


def endpoints(case: Case) -> Step:
    """Is anybody there who could answer?"""
    target = case.target
    if isinstance(target, Unseen):
        return _by_hearsay(case, target)
    if isinstance(target.slices, Unseen):
        return unknown(ENDPOINTS, target.slices.why)
    if not isinstance(target.service, Service):
        return unknown(ENDPOINTS, "without a Service there are none")
    name = case.called.hostname
    members = [
        one for each in target.slices for one in each.endpoints if not name or one.hostname == name
    ]
    ready = [one for one in members if _is_ready(one) or _publishes(target.service)]
    if ready:
        return ok(ENDPOINTS, f"{len(ready)} of {len(members)} are ready")
    return _nobody(case, target, target.service, len(members))


def _nobody(case: Case, target: Target, service: Service, count: int) -> Step:
    wanted = ",".join(f"{key}={value}" for key, value in sorted(service.spec.selector.items()))
    words = f"-n {case.called.export.namespace} get pods" + (f" -l {wanted}" if wanted else "")
    shown = case.kubectl(target, words)
    if count:
        detail = f"of {counted(count, 'pod')} of {_export(case)} none is ready"
        return broken(ENDPOINTS, "NoReadyEndpoints", detail, f"see why they are not: {shown}")
    if case.called.hostname:
        detail = f"{_export(case)} has no pod of that name"
        return broken(ENDPOINTS, "NoSuchPod", detail, f"which are there? {shown}")
    if wanted:
        detail = f"no pod is selected by {_export(case)} ({wanted})"
        hint = f"start pods with these labels; see {shown}"
        return broken(ENDPOINTS, "NoEndpoints", detail, hint)
    detail = f"{_export(case)} has no selector, and no EndpointSlice that somebody else has made"
    return broken(ENDPOINTS, "NoEndpoints", detail, "give it a selector, or write EndpointSlices")


def _by_hearsay(case: Case, target: Unseen) -> Step:
    """What the mirror's slices say about pods in a cluster that cannot be looked at."""
    source, alive = case.source, case.condition("GatewayAlive")
    if isinstance(source, Unseen) or isinstance(source.slices, Unseen):
        return unknown(ENDPOINTS, target.why)
    members = [one for each in source.slices for one in each.endpoints]
    if any(_is_ready(one) for one in members):
        return ok(ENDPOINTS, f"{case.there} says that somebody is ready")
    if members and alive is not None and alive.status == "True":
        detail = f"{case.there} says that none of the pods of {_export(case)} is ready"
        return broken(ENDPOINTS, "NoReadyEndpoints", detail, f"look at its pods in {case.there}")
    return unknown(ENDPOINTS, target.why)


def _is_ready(one: Endpoint) -> bool:
    return one.conditions.ready is not False


def _publishes(service: Service) -> bool:
    return service.spec.publish_not_ready_addresses


def _export(case: Case) -> str:
    name = f"{case.called.hostname}." if case.called.hostname else ""
    return f"{name}{case.called.export.name} in namespace {case.called.export.namespace}"
