"""Whether a cluster has what it proves itself with, for how long, and whether its pods use it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from cryptography import x509

from isthmus.cli.checking.checks import Check, counted, passed, warned, wrong
from isthmus.cli.checking.evidence.sites import Site, Unseen
from isthmus.cli.checking.walking.trusting import each_other, own
from isthmus.embedded.tables.table import age
from isthmus.model.times import second_time
from isthmus.pki.bundle import Bundle
from isthmus.pki.keys import fingerprint
from isthmus.pki.shape import LEEWAY

TRUSTED = "isthmus-trust"

# What is left of a certificate when it is time to renew it, and when it is high time; but never
# more than a share of its whole life, for those that are short on purpose.
_SOON, _SOON_SHARE = timedelta(days=30), 2
_NOW, _NOW_SHARE = timedelta(days=7), 8
_AGREE = 60.0  # seconds by which clocks may differ without a word


def trusted(site: Site) -> Iterator[Check]:
    name = site.name or site.context
    yield _usable(name, site)
    yield from _lasting(name, site)
    yield _in_use(name, site)
    yield _content(site)
    yield from _on_time(site)


def _usable(name: str, site: Site) -> Check:
    title = "issuer and anchors fit together, and this cluster"
    for one in (site.issuer, site.anchors):
        if isinstance(one, Unseen):
            hint = f"you need to get secrets and configmaps in namespace {site.namespace}"
            return warned(TRUSTED, title, one.why, hint)
    found = own(name, site)
    if found is not None:
        return wrong(TRUSTED, title, found.detail, found.hint)
    for step in each_other({name: site}):
        if step is not None and step.reason == "WrongAnchor":
            return wrong(TRUSTED, title, step.detail, step.hint)
    return passed(TRUSTED, title, site.issues_for)


def _lasting(name: str, site: Site) -> Iterator[Check]:
    if isinstance(site.issuer, x509.Certificate):
        hint = f"make another with: isthmus trust issue --cluster {name}"
        yield _lasts("the issuer", site.issuer, site.now, hint)
    if isinstance(site.anchors, Bundle):
        for one in site.anchors.anchors:
            title = f"the anchor {fingerprint(one)[:16]}"
            yield _lasts(title, one, site.now, "replace it with: isthmus trust rotate")


def _lasts(what: str, certificate: x509.Certificate, now: datetime, hint: str) -> Check:
    title = f"{what} holds for a while"
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    left, life = end - now, end - begin
    until = f"until {second_time(end)}"
    if left <= timedelta():
        return wrong(TRUSTED, title, f"it expired at {second_time(end)}", hint)
    if left < min(_NOW, life / _NOW_SHARE):
        return wrong(TRUSTED, title, f"only for {age(left)} more, {until}", hint)
    if left < min(_SOON, life / _SOON_SHARE):
        return warned(TRUSTED, title, f"for {age(left)} more, {until}", hint)
    return passed(TRUSTED, title, until)


def _in_use(name: str, site: Site) -> Check:
    title = "every pod uses the anchors that it was given"
    if isinstance(site.news, Unseen):
        return warned(TRUSTED, title, site.news.why, "you need to get configmaps")
    for step in each_other({name: site}):
        if step is not None and step.reason == "AnchorNotInUse":
            return warned(TRUSTED, title, step.detail, step.hint)
    members = site.members
    silent = sorted(pod for pod, one in members.items() if one.report is None)
    if silent:
        detail = f"nothing is known yet of {', '.join(silent[:3])}"
        hint = "a proxy says so within two minutes of its start; its log says what keeps it"
        return warned(TRUSTED, title, detail, hint)
    if not members:
        return passed(TRUSTED, title, "no pod runs")
    return passed(TRUSTED, title, counted(len(members), "pod"))


def _content(site: Site) -> Check:
    title = "controllers can use what they were given"
    problems = sorted({text for page in site.pages for text in page.problems})
    if problems:
        hint = "the last that could be used stays in use until a restart: replace it now"
        return wrong(TRUSTED, title, "; ".join(problems), hint)
    if not site.pages:
        why = next((one.page.why for one in site.replicas if isinstance(one.page, Unseen)), "")
        hint = f"you need to get pods/proxy in namespace {site.namespace}"
        return warned(TRUSTED, title, why or "no controller runs that could be asked", hint)
    return passed(TRUSTED, title)


def _on_time(site: Site) -> Iterator[Check]:
    title = "the clocks of the API server and of this machine agree"
    if site.ahead is None:
        return
    if abs(site.ahead) > _AGREE:
        hint = "one of them is wrong (NTP?); whoever makes certificates on it makes them wrong"
        yield warned(TRUSTED, title, _apart(site.ahead, "the API server"), hint)
    else:
        yield passed(TRUSTED, title)
    clock = site.clock
    if clock is None or not site.pages:
        return
    title, ahead = "the clocks of controllers and API server agree", clock[0] - site.ahead
    hint = "set the clock of its node right (NTP): what it signs is not valid elsewhere"
    if abs(ahead) > LEEWAY.total_seconds():
        yield wrong(TRUSTED, title, _apart(ahead, clock[1]), hint)
    elif abs(ahead) > _AGREE:
        yield warned(TRUSTED, title, _apart(ahead, clock[1]), hint)
    else:
        yield passed(TRUSTED, title)


def _apart(seconds: float, whose: str) -> str:
    how = "ahead" if seconds > 0 else "behind"
    return f"the clock of {whose} is {age(timedelta(seconds=abs(seconds)))} {how}"
