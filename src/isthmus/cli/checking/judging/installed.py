"""Whether everything that was installed is there, of one version, and runs."""

from collections.abc import Iterator
from datetime import timedelta

from isthmus import __version__
from isthmus.cli.checking.checks import Check, counted, passed, warned, wrong
from isthmus.cli.checking.evidence.clusters import Census, Present
from isthmus.cli.checking.evidence.sites import ROLES, Site, Unseen, Workload
from isthmus.install.definitions import definitions
from isthmus.install.values import NAMESPACE
from isthmus.model.names import CONTROLLER, GATEWAY
from isthmus.model.objects import Service
from isthmus.model.pages import Proxy
from isthmus.model.times import parsed
from isthmus.model.wire import Json

INSTALLED = "isthmus-installation"

_LATE = timedelta(seconds=30)  # beyond the end of a lease


def installed(found: Census) -> Iterator[Check]:
    yield from _kinds(found)
    yield _rights(found)
    if isinstance(found.site.workloads, Unseen):
        hint = f"you need to list pods in namespace {found.site.namespace}"
        yield warned(INSTALLED, "workloads run", found.site.workloads.why, hint)
    else:
        for name in ROLES:
            yield _runs(found.site, found.site.workloads[name])
        yield _versions(found.site.namespace, tuple(found.site.workloads.values()))
    yield _leads(found.site)
    yield _address(found)
    yield _proxies(found.site)


def absent(there: Present, namespace: str) -> Check | None:
    """Say that Isthmus is somewhere else, or nowhere; None if there is something to look at."""
    name = f"Isthmus is installed in namespace {namespace}"
    homes = () if isinstance(there.homes, Unseen) else there.homes
    if homes and namespace not in homes:
        detail = f"nothing runs there; it is installed in {', '.join(homes)}"
        return wrong(INSTALLED, name, detail, f"isthmus check --namespace {homes[0]}")
    if there.namespace is None:
        detail = "there is no such namespace; only kinds of Isthmus are defined in this cluster"
        return wrong(INSTALLED, name, detail, "isthmus install --help tells how it comes there")
    return None


def _install(namespace: str) -> str:
    """What can be typed: an installation remembers everything else."""
    where = "" if namespace == NAMESPACE else f" --namespace {namespace}"
    return f"isthmus install{where} --apply"


def _kinds(found: Census) -> Iterator[Check]:
    install = _install(found.site.namespace)
    for ours in definitions():
        name = ours["metadata"]["name"]
        title = f"{name} is defined as this version needs it"
        there = found.present.definitions.get(name)
        if isinstance(there, Unseen):
            hint = "you need to get customresourcedefinitions"
            yield warned(INSTALLED, title, there.why, hint)
        elif there is None:
            yield wrong(INSTALLED, title, "it is not defined", f"{install} brings it")
        elif (other := _differs(ours["spec"]["versions"], there["spec"]["versions"])) is not None:
            detail = f"it is that of another version: {other}"
            yield warned(INSTALLED, title, detail, f"{install} replaces it")
        else:
            yield passed(INSTALLED, title)


def _differs(ours: Json, theirs: Json, path: str = "versions") -> str | None:
    """Return where ``theirs`` lacks something of ``ours``; what a server adds is no difference."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        pairs = ((f"{path}.{key}", value, theirs.get(key)) for key, value in ours.items())
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return path
        both = zip(ours, theirs, strict=True)
        pairs = ((f"{path}[{index}]", *pair) for index, pair in enumerate(both))
    else:
        return None if ours == theirs else path
    return next((one for where, a, b in pairs if (one := _differs(a, b, where))), None)


def _rights(found: Census) -> Check:
    name = "the controller may do what it has to"
    if isinstance(found.lacking, Unseen):
        hint = "you need to create subjectaccessreviews to ask for somebody else"
        return warned(INSTALLED, name, found.lacking.why, hint)
    if not found.lacking:
        return passed(INSTALLED, name)
    first = ", ".join(map(str, found.lacking[:3]))
    more = f" and {len(found.lacking) - 3} more" if len(found.lacking) > 3 else ""
    hint = f"{_install(found.site.namespace)} restores its roles and bindings"
    return wrong(INSTALLED, name, f"it may not {first}{more}", hint)


def _runs(site: Site, workload: Workload) -> Check:
    role = ROLES[workload.name]
    name = f"the {role} runs"
    command = f"kubectl -n {site.namespace} get pods -l app.kubernetes.io/name={workload.name}"
    if workload.wanted is None and not workload.pods:
        detail = f"there is no Deployment {workload.name} in namespace {site.namespace}"
        return wrong(INSTALLED, name, detail, f"{_install(site.namespace)} brings it")
    wanted = len(workload.pods) if workload.wanted is None else workload.wanted
    count = f"{workload.ready} of {wanted} pods are ready"
    if workload.ready >= max(wanted, 1):
        if stuck := workload.stuck(site.now):
            return warned(INSTALLED, name, f"{count}, but {stuck}", command)
        return passed(INSTALLED, name, count)
    detail = f"{count}; {workload.trouble}" if workload.trouble else count
    if workload.ready:
        return warned(INSTALLED, name, detail, command)
    return wrong(INSTALLED, name, detail, command)


def _versions(namespace: str, workloads: tuple[Workload, ...]) -> Check:
    name = "all workloads are of the version of this command"
    known = {ROLES[one.name]: one.version for one in workloads if one.version}
    others = {role: version for role, version in known.items() if version != __version__}
    if not others:
        return passed(INSTALLED, name, __version__)
    said = ", ".join(f"{role} {version}" for role, version in known.items())
    detail = f"{said}; this command is {__version__}"
    hint = f"{_install(namespace)} brings all to one version; or use the command of that version"
    return warned(INSTALLED, name, detail, hint)


def _leads(site: Site) -> Check:
    name = "a controller leads"
    lease = site.lease
    hint = "without one no mirror changes; the controllers' logs say what keeps them from it"
    if isinstance(lease, Unseen):
        return warned(INSTALLED, name, lease.why, "you need to get leases")
    if lease is None or not lease.spec.holder_identity:
        return wrong(INSTALLED, name, f"nobody holds the lease {CONTROLLER}", hint)
    try:
        renewed = parsed(lease.spec.renew_time or "")
    except ValueError:
        return wrong(INSTALLED, name, "the lease was never renewed", hint)
    late = site.now - renewed - timedelta(seconds=lease.spec.lease_duration_seconds or 15)
    if late > _LATE:
        detail = f"{lease.spec.holder_identity} let the lease expire {_short(late)} ago"
        return wrong(INSTALLED, name, detail, hint)
    return passed(INSTALLED, name, lease.spec.holder_identity)


def _address(found: Census) -> Check:
    name = "the gateway has an address for other clusters"
    service = found.gateway
    if isinstance(service, Unseen):
        return warned(INSTALLED, name, service.why, "you need to get services")
    if service is None:
        hint = f"{_install(found.site.namespace)} brings it"
        return wrong(INSTALLED, name, f"there is no Service {GATEWAY}", hint)
    where = addresses(service)
    if where:
        return passed(INSTALLED, name, ", ".join(where))
    if service.spec.type == "NodePort":
        return passed(INSTALLED, name, "that of any node; Links name one")
    detail = f"its Service, of type {service.spec.type}, has none"
    hint = "is there a load balancer? Else name an address in each Link: isthmus link tells how"
    return warned(INSTALLED, name, detail, hint)


def addresses(service: Service) -> tuple[str, ...]:
    """Return where other clusters reach a Service."""
    ingress = service.status.load_balancer.ingress
    return (
        *(one.ip or one.hostname for one in ingress if one.ip or one.hostname),
        *service.spec.external_ips,
    )


def _proxies(site: Site) -> Check:
    """Whether every proxy is connected, and takes what it is told."""
    name = "every proxy takes what it is told"
    unseen = [one.page.why for one in site.replicas if isinstance(one.page, Unseen)]
    if not site.pages:
        why = unseen[0] if unseen else "no controller runs that could be asked"
        hint = f"you need to get pods/proxy in namespace {site.namespace}"
        return warned(INSTALLED, name, why, hint)
    proxies = (*site.proxies("gateway"), *site.proxies("egress"))
    refusing = [one for one in proxies if one.refused]
    if refusing:
        return _refused(name, refusing[0])
    missing = [] if unseen else _disconnected(site, {one.name for one in proxies})
    if missing:
        detail = f"no controller has heard of {', '.join(missing)}"
        hint = "a proxy that is not told goes on with what it has; its log says why it is alone"
        return warned(INSTALLED, name, detail, hint)
    return passed(INSTALLED, name, f"{counted(len(proxies), 'proxy', 'proxies')} connected")


def _refused(name: str, proxy: Proxy) -> Check:
    first = proxy.refused[0]
    more = f" (and {proxy.refused_count - 1} more)" if proxy.refused_count > 1 else ""
    detail = f"{proxy.name} refuses {first.type} {first.name}: {first.message}{more}"
    hint = "it goes on with all else; change what Envoy complains about"
    return wrong(INSTALLED, name, detail, hint)


def _disconnected(site: Site, connected: set[str]) -> list[str]:
    return [
        pod.metadata.name
        for name, role in ROLES.items()
        if role != "controller" and (workload := site.workload(name)) is not None
        for pod in workload.pods
        if pod.is_ready and pod.metadata.name not in connected
    ]


def _short(span: timedelta) -> str:
    return f"{span.total_seconds():.0f} s"
