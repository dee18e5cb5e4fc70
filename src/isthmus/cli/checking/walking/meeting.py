"""The steps between the clusters: the Link, the gateway at its other end, and the catalogue."""

from shlex import quote

from isthmus.cli.checking.evidence.calls import Case, Source
from isthmus.cli.checking.evidence.sites import Site, Unseen
from isthmus.cli.checking.walking.steps import Fix, Step, broken, ok, unknown
from isthmus.cli.checking.walking.trusting import DISTRUST, NAMELESS
from isthmus.model.links import Link
from isthmus.model.names import CONTROLLER, GATEWAY
from isthmus.model.pages import Probe

LINK, GATE, CATALOGUE, PROBE = "link", "gateway", "catalogue", "probe"

# What a Link's controller says about the Link itself, and not about who answers.
_AMISS = {
    "LinkToSelf": "let the Link's address be that of the other cluster's gateway",
    "DuplicateTarget": "delete one of the two Links: isthmus unlink",
    "IdentityChanged": "if the cluster was rebuilt on purpose, clear status.clusterUID of the Link",
    "WrongCluster": "a Link has the name of its target, and both are of one mesh",
    "BadCredentials": "put a kubeconfig that can be used into the Link's Secret",
    "CredentialsMissing": "create the Secret that the Link's credentialsSecret names",
    "NoFilesLeft": "raise the controller's limit of open files (ulimit -n)",
    "Unauthorized": "put a fresh token into the Link's Secret",
}


def link(case: Case) -> Step:
    """Is there a Link, does it make sense, and does anybody act on it?"""
    source = case.source
    if isinstance(source, Unseen):
        return unknown(LINK, source.why)
    found = source.link
    if found is None:
        return _missing(case, source)
    if found.metadata.deletion_timestamp is not None:
        detail = f"Link {found.cluster} is being deleted, and its mirrors with it"
        return broken(LINK, "LinkEnding", detail, "create it again when it is gone")
    why = down(source.site, CONTROLLER)
    if why:
        detail = f"nobody acts on Link {found.cluster}: {why}"
        return broken(LINK, "ControllerDown", detail, started(source.site, CONTROLLER))
    connected = case.condition("Connected")
    if connected is None:
        detail = f"no controller has taken note of Link {found.cluster} yet"
        return broken(LINK, "LinkNotSeen", detail, pods(source.site, CONTROLLER))
    if connected.status == "False" and connected.reason in _AMISS:
        return broken(LINK, connected.reason, connected.message, _AMISS[connected.reason])
    refused = case.condition("AddressRefused")
    if refused is not None:
        hint = f"name the address of {case.there}'s gateway in spec.gateway.addresses"
        return broken(LINK, "AddressRefused", refused.message, hint)
    if not found.spec.gateway.addresses:
        detail = f"Link {found.cluster} names no address of a gateway"
        return broken(LINK, "NoAddress", detail, f"set spec.gateway.addresses of Link {case.there}")
    return ok(LINK, f"{found.cluster}, at {_where(found)}")


def _missing(case: Case, source: Source) -> Step:
    if isinstance(source.links, Unseen):
        return unknown(LINK, source.links.why)
    names = ", ".join(one.cluster for one in source.links) or "none"
    detail = f"{case.here} has no Link to {case.there}; it has: {names}"
    headless = " --set enableHeadlessServices=true" if case.called.hostname else ""
    named = f" --cluster-name {quote(case.target_name)}" if case.target_name else ""
    made = f"link{named}{headless}"
    applied = case.kubectl(source, "apply -f -")
    if isinstance(case.target, Unseen):
        hint = f"make it in the context of {case.there}: isthmus {made} | {applied}"
        return broken(LINK, "LinkMissing", detail, hint)
    command = f"isthmus --context {quote(case.target.site.context)} {made} | {applied}"
    return broken(LINK, "LinkMissing", detail, Fix(command))


def gateway(case: Case) -> Step:
    """Can the gateway be found, does it run, and does it answer?"""
    source, target, found = case.source, case.target, case.link
    if not isinstance(target, Unseen):
        why = down(target.site, GATEWAY)
        if why:
            detail = f"the gateway of {case.there} does not run: {why}"
            return broken(GATE, "GatewayDown", detail, started(target.site, GATEWAY))
    if isinstance(source, Unseen) or found is None:
        return unknown(GATE, "without a Link nobody has tried to reach it")
    probe = source.probe
    if isinstance(probe, Probe):
        return _probed(case, found, probe)
    connected, alive = case.condition("Connected"), case.condition("GatewayAlive")
    if connected is not None and connected.reason == "NoAddress":
        return broken(GATE, "NameNotResolved", connected.message, _rename(found))
    if alive is not None and alive.status == "False":
        return broken(GATE, "GatewayUnreachable", alive.message, _open(case, found))
    if alive is not None and alive.status == "True":
        return ok(GATE, alive.message)
    return unknown(GATE, probe.why if isinstance(probe, Unseen) else "it was not probed yet")


def _probed(case: Case, found: Link, probe: Probe) -> Step:
    lost = [one for one in probe.hosts if not one.addresses]
    answered = [one for one in probe.attempts if one.answered]
    if lost and len(lost) == len(found.spec.gateway.addresses):
        detail = "; ".join(f"{one.host}: {one.message}" for one in lost)
        until = "; calls go where a name led before, until a restart" if answered else ""
        return broken(GATE, "NameNotResolved", f"{detail}{until}", _rename(found))
    if answered:
        fastest = min(answered, key=lambda one: one.milliseconds)
        return ok(GATE, f"{fastest.address} answers within {fastest.milliseconds:g} ms")
    if not probe.attempts:
        detail = f"no address of the gateway is known: {_where(found)}"
        return broken(GATE, "NoAddress", detail, _rename(found))
    if all(one.reason in DISTRUST | NAMELESS for one in probe.attempts):
        return unknown(GATE, "whether it is reached is not known before there is trust")
    detail = "; ".join(one.message or one.reason for one in probe.attempts)
    return broken(GATE, "GatewayUnreachable", detail, _open(case, found))


def catalogue(case: Case) -> Step:
    """Is what the target exports known, and up to date?"""
    source, target, found = case.source, case.target, case.link
    if not isinstance(target, Unseen) and (found is None or found.spec.via == "gateway"):
        why = down(target.site, CONTROLLER)
        if why:
            detail = f"the controller of {case.there}, which serves the catalogue, is down: {why}"
            way = started(target.site, CONTROLLER)
            return broken(CATALOGUE, "TargetControllerDown", detail, way)
    if isinstance(source, Unseen) or found is None:
        return unknown(CATALOGUE, "without a Link nobody reads it")
    connected, synced = case.condition("Connected"), case.condition("Synced")
    since = found.status.stale_since
    stale = f" (not followed since {since})" if since else ""
    if connected is not None and connected.status == "False":
        detail, hint = f"{connected.message}{stale}", _again(case, connected.reason)
        return broken(CATALOGUE, connected.reason or "NotConnected", detail, hint)
    if synced is None or synced.status != "True":
        detail = f"{synced.message if synced else 'it was not read yet'}{stale}"
        hint = "wait for its first complete reading; the Link's conditions say what it waits for"
        return broken(CATALOGUE, "NotSynced", detail, hint)
    return ok(CATALOGUE, synced.message)


def _again(case: Case, reason: str) -> str:
    """What to do about a catalogue that is not followed although nothing seems to be in its way."""
    if reason == "Forbidden":
        return "a Grant that is new counts within seconds: ask again in a moment"
    if isinstance(case.target, Unseen):
        return f"is the controller of {case.there} running? isthmus check there tells more"
    return f"it is tried again within a minute; if it stays so, the log of {case.here} says more"


def probe(case: Case) -> Step:
    """What happened to those who have just tried the way of a call."""
    source = case.source
    if isinstance(source, Unseen):
        return unknown(PROBE, source.why)
    if isinstance(source.probe, Unseen):
        return unknown(PROBE, f"no controller could be asked to try: {source.probe.why}")
    if source.probe is None or not source.probe.attempts:
        return unknown(PROBE, "there was nothing to try")
    failed = [one for one in source.probe.attempts if not one.answered]
    if len(failed) == len(source.probe.attempts):
        detail = "; ".join(one.message for one in failed)
        return broken(PROBE, "ProbeFailed", detail, "mend what is broken before this step")
    who = source.probe.identity
    proven = f" and proves to be {who}" if who else ""
    some = f"; {len(failed)} of its addresses do not" if failed else ""
    listens = ""
    if isinstance(source.listening, Probe):
        listens = "; the egress listens" if source.listening.attempts else ""
    return ok(PROBE, f"the gateway answers{proven}{some}{listens}")


def down(site: Site, name: str) -> str:
    """Say why none of a workload's pods serves; nothing if one does, or nobody can tell."""
    workload = site.workload(name)
    if workload is None or workload.ready:
        return ""
    if workload.trouble:
        return workload.trouble
    if workload.wanted is None:
        return f"there is no Deployment {name} in namespace {site.namespace}"
    return f"Deployment {name} has no pods ({workload.wanted} are wanted)"


def started(site: Site, name: str) -> Fix | str:
    """Return what starts a workload of ours that is down, or else how to see why it is."""
    workload = site.workload(name)
    if workload is not None and workload.wanted == 0:
        return Fix(f"{_kubectl(site)} scale deployment {name} --replicas=1")
    return pods(site, name)


def pods(site: Site, name: str) -> str:
    """Return where to see how a workload of ours is."""
    return f"see {_kubectl(site)} get deployment,pods -l app.kubernetes.io/name={name}"


def _kubectl(site: Site) -> str:
    return f"kubectl --context {quote(site.context)} -n {site.namespace}"


def _where(found: Link) -> str:
    gateway = found.spec.gateway
    return f"{', '.join(gateway.addresses) or 'no address'}, port {gateway.port}"


def _rename(found: Link) -> str:
    return f"correct spec.gateway.addresses of Link {found.cluster}: {_where(found)}"


def _open(case: Case, found: Link) -> str:
    return (
        f"can pods of {case.here} reach {_where(found)}? Compare it with the gateway's Service in "
        f"{case.there}, and look for firewalls on the way"
    )
