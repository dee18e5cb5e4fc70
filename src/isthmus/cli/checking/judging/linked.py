"""Whether links are followed, gateways answer as who they should be, and Grants count."""

from collections.abc import Iterator

from isthmus.cli.checking.checks import Check, counted, passed, warned, wrong
from isthmus.cli.checking.evidence.clusters import Census
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.joining.verdicts import of_grant, way_out
from isthmus.core.status import FICKLE
from isthmus.embedded.tables.table import age
from isthmus.model.links import Link
from isthmus.model.objects import Condition
from isthmus.model.pages import Probe
from isthmus.model.times import parsed

LINKED = "isthmus-links"

_WAY = "isthmus why SERVICE walks the way of a call, and names the step that is broken"
_NOT_RUN = "no controller could be asked to try"
_ALARMS = ("AddressRefused", "ProxyRefused", "DeletionHeld", "EndpointsHeld", "LimitExceeded")
_GRAVE = ("AddressRefused", "ProxyRefused")


def linked(found: Census) -> Iterator[Check]:
    if isinstance(found.links, Unseen):
        hint = found.links.hint or "you need to list links"
        yield warned(LINKED, "links can be read", found.links.why, hint)
    else:
        for one in found.links:
            yield from _link(found, one)
        if not found.links:
            yield passed(LINKED, "there are links", "none yet: isthmus link makes one")
    yield from _grants(found)


def _link(found: Census, link: Link) -> Iterator[Check]:
    known = {one.type: one for one in link.status.conditions}
    name = f"link {link.cluster}"
    if link.metadata.deletion_timestamp is not None:
        hint = f"isthmus unlink {link.cluster} --apply --force ends it if no controller does"
        yield warned(LINKED, f"{name} is wanted", "it is being deleted", hint)
        return
    yield _followed(found, link, known)
    yield _answers(found, link, known)
    for alarm in _ALARMS:
        if alarm in known:
            title = f"{name} has nothing to complain about"
            judge = wrong if alarm in _GRAVE else warned
            yield judge(LINKED, title, f"{alarm}: {known[alarm].message}", way_out(alarm) or _WAY)
    yield _mirrored(link)


def _followed(found: Census, link: Link, known: dict[str, Condition]) -> Check:
    """Whether the catalogue is followed, and how old it is if not."""
    title = f"link {link.cluster} follows its target"
    connected, synced = known.get("Connected"), known.get("Synced")
    if connected is None or connected.observed_generation < link.metadata.generation:
        hint = "is a controller running here? Without one nobody acts on a Link"
        return wrong(LINKED, title, "no controller has taken note of it", hint)
    if connected.status == "True" and synced is not None and synced.status == "True":
        return passed(LINKED, title, counted(link.status.mirrors or 0, "mirror"))
    trouble = connected if connected.status != "True" else synced or connected
    detail = f"{trouble.reason}: {trouble.message}{_stale(found, link)}"
    probe = found.probes.get(link.cluster)
    if trouble.reason in FICKLE and isinstance(probe, Probe) and _is_answered(probe):
        hint = "its gateway answers by now, and it is tried again within a minute: --wait 60"
        return wrong(LINKED, title, detail, hint)
    return wrong(LINKED, title, detail, _hint(trouble))


def _is_answered(probe: Probe) -> bool:
    return any(one.answered for one in probe.attempts)


def _stale(found: Census, link: Link) -> str:
    since = link.status.stale_since
    if not since:
        return ""
    try:
        return f"; what is known is {age(found.site.now - parsed(since))} old"
    except ValueError:
        return ""


def _hint(trouble: Condition) -> str:
    fickle = way_out("Unreachable") if trouble.reason in FICKLE else ""
    return way_out(trouble.reason) or fickle or _WAY


def _answers(found: Census, link: Link, known: dict[str, Condition]) -> Check:
    """Whether the gateway answers now, and proves who it is; else what its probes have said."""
    title = f"gateway of {link.cluster} answers and proves who it is"
    probe = found.probes.get(link.cluster)
    if isinstance(probe, Probe):
        return _probed(title, probe)
    alive = known.get("GatewayAlive")
    why = probe.why if isinstance(probe, Unseen) else _NOT_RUN
    if alive is not None and alive.status == "False":
        return wrong(LINKED, title, f"{alive.reason}: {alive.message}", _hint(alive))
    if alive is not None and alive.status == "True":
        return passed(LINKED, title, f"by its last probe; {why}")
    return warned(LINKED, title, why, f"you need to get pods/proxy in {found.site.namespace}")


def _probed(title: str, probe: Probe) -> Check:
    good = [one for one in probe.attempts if one.answered]
    bad = [one for one in probe.attempts if not one.answered]
    lost = [f"{one.host}: {one.message}" for one in probe.hosts if not one.addresses]
    if not good:
        said = [*lost, *(one.message or one.reason for one in bad)] or ["it has no address"]
        reason = bad[0].reason if bad else "NoAddress"
        return wrong(LINKED, title, "; ".join(said), way_out(reason) or _WAY)
    fastest = min(one.milliseconds for one in good)
    if bad or lost:
        said = [*lost, *(one.message or one.reason for one in bad)]
        hint = "calls go to the others; mend it, or take it out of the Link"
        return warned(LINKED, title, "; ".join(said), hint)
    return passed(LINKED, title, f"{probe.identity or 'by TCP alone'}, {fastest:g} ms")


def _mirrored(link: Link) -> Check:
    title = f"link {link.cluster} mirrors every export"
    count = link.status.refused_count or 0
    if not count:
        return passed(LINKED, title)
    shown = "; ".join(
        f"{one.namespace}/{one.name}: {one.reason}" for one in link.status.refused[:3]
    )
    hint = f"isthmus services --link {link.cluster} -A shows all of them, and why"
    return warned(LINKED, title, f"{count} are refused: {shown}", hint)


def _grants(found: Census) -> Iterator[Check]:
    title = "every Grant is understood"
    if isinstance(found.grants, Unseen):
        hint = found.grants.hint or "you need to list grants"
        yield warned(LINKED, title, found.grants.why, hint)
        return
    judged = {one.name: of_grant(one) for one in found.grants}
    bad = {name: one for name, one in judged.items() if not one.is_good}
    if bad:
        name, verdict = next(iter(sorted(bad.items())))
        hint = verdict.hint or "is a controller running here? Without one no Grant counts"
        yield wrong(LINKED, title, f"Grant {name}: {verdict}", hint)
    else:
        yield passed(LINKED, title, counted(len(judged), "Grant"))
