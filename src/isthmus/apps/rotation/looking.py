"""What one cluster shows of its trust, read as a whole, with the time before it was asked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from cryptography import x509

from isthmus.apps.controller.carrying.calling import LIVE
from isthmus.apps.controller.certifying.trust import Unusable, read_anchors, read_issuer
from isthmus.apps.rotation import kept
from isthmus.apps.rotation.kept import Copy
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS, GRANTS, LINKS, PODS, SECRETS, Resource
from isthmus.model.errors import IsthmusError, Permanent, Transient
from isthmus.model.links import Link
from isthmus.model.names import (
    CONTROLLER,
    EGRESS,
    GATEWAY,
    ISSUER,
    TRUST,
    TRUST_ROTATION,
    TRUST_SEEN,
)
from isthmus.model.objects import Key
from isthmus.pki import bundle, reports
from isthmus.pki.bundle import Bundle
from isthmus.pki.facts import facts
from isthmus.pki.keys import fingerprint
from isthmus.pki.reports import News
from isthmus.pki.seen import Reading, Report, Seen, with_reading, with_report
from isthmus.pki.verify import Untrusted, anchor_of
from isthmus.runtime.clock import Clock

T = TypeVar("T")

ROLES = {CONTROLLER: "controller", GATEWAY: "gateway", EGRESS: "egress"}  # by service account


class Unfit(Permanent):
    """A cluster that cannot take part in a rotation. Names it, and the way out."""


class Unread(Transient):
    """A cluster that cannot be read just now."""


@dataclass(frozen=True, slots=True)
class Site:
    """The way to one cluster."""

    context: str  # how the user calls it
    client: Client
    namespace: str = "isthmus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A cluster at one moment. The versions are preconditions of what is written next."""

    at: datetime  # by our clock
    bundle: Bundle
    bundle_version: str
    issuer: x509.Certificate
    issuer_version: str
    roles: Mapping[str, str]  # of every pod of ours
    news: News
    ahead: timedelta  # of the cluster's clock
    neighbours: frozenset[str]  # clusters that it is joined with
    copy: Copy | None

    @property
    def host(self) -> str:
        """The host of all identities of the cluster: ``west.isthmus``."""
        return (facts(self.issuer).permitted or ("",))[0]

    @property
    def cluster(self) -> str:
        return self.host.partition(".")[0]

    def issues_from(self, known: Bundle) -> str:
        """Return the anchor of the issuer, be it trusted here or only ``known``."""
        anchors = bundle.of((*self.bundle.anchors, *known.anchors))
        try:
            return fingerprint(anchor_of(self.issuer, anchors))
        except Untrusted:
            raise Unfit(
                f"{self.cluster}: the issuer in Secret {ISSUER} is below none of the anchors that "
                f"are known; make another with `isthmus trust issue --cluster {self.cluster}`"
            ) from None

    def report(self, name: str) -> Report | None:
        """Return what is known of a member, at times of our own clock."""
        is_controller = self.roles[name] == "controller"
        found = self.news.of_controller(name) if is_controller else self.news.of_proxy(name)
        # Nobody has seen the future: a clock that says so is wrong, or was read too roughly.
        return None if found is None else replace(found, at=min(found.at - self.ahead, self.at))


def noted(seen: Seen, look: Look, known: Bundle) -> Seen:
    """Take note of a cluster and of all that its members say."""
    members = {name: role == "controller" for name, role in look.roles.items()}
    reading = Reading(
        look.at, frozenset(look.bundle.fingerprints), look.issues_from(known), members
    )
    seen = with_reading(seen, look.cluster, reading)
    for name in look.roles:
        report = look.report(name)
        if report is not None:
            seen = with_report(seen, look.cluster, name, report)
    return seen


async def look(site: Site, clock: Clock) -> Look:
    """Read a cluster; raise :class:`Unfit` or :class:`Unread`, which name it."""
    try:
        return await _look(site, clock)
    except Transient as error:
        raise Unread(f"{site.context}: {error}") from error
    except IsthmusError as error:
        raise Unfit(f"{site.context}: {error}") from error


async def _look(site: Site, clock: Clock) -> Look:
    at, client, space = clock.utc(), site.client, site.namespace
    trust, issuer = Key(space, TRUST), Key(space, ISSUER)
    config_map = await _maybe(client, CONFIG_MAPS, trust)
    secret = await _maybe(client, SECRETS, issuer)
    anchors = read_anchors(config_map, trust)
    pair = read_issuer(secret, issuer, site.context)
    if isinstance(anchors, Unusable):
        raise anchors
    if isinstance(pair, Unusable):
        raise pair
    permitted = facts(pair.certificate).permitted or ()
    if len(permitted) != 1 or permitted[0].startswith("."):
        raise Unfit(f"Secret {issuer}: the issuer is not constrained to one cluster")
    seen = await _maybe(client, CONFIG_MAPS, Key(space, TRUST_SEEN))
    copy = await _maybe(client, CONFIG_MAPS, Key(space, TRUST_ROTATION))
    pods = await client.list(PODS, Selection(namespace=space, fields=LIVE.fields))
    links, grants = await client.list(LINKS), await client.list(GRANTS)
    assert config_map is not None  # or it could not have been read
    assert secret is not None
    return Look(
        at=at,
        bundle=anchors,
        bundle_version=config_map.metadata.resource_version,
        issuer=pair.certificate,
        issuer_version=secret.metadata.resource_version,
        roles={
            pod.metadata.name: ROLES[pod.spec.service_account_name]
            for pod in pods.objects
            if pod.spec.service_account_name in ROLES
        },
        news=reports.news(seen.data if seen else {}),
        ahead=timedelta(seconds=client.clock_skew or 0.0),
        neighbours=frozenset(
            (
                *(link.cluster for link in links.objects if _is_trusted(link)),
                *(grant.spec.cluster for grant in grants.objects),
            )
        ),
        copy=None if copy is None else kept.read(copy),
    )


def _is_trusted(link: Link) -> bool:
    """Tell whether a link needs our trust, and not somebody else's."""
    return link.spec.via == "gateway" or link.spec.data_plane == "envoy"


async def _maybe(client: Client, resource: Resource[T], key: Key) -> T | None:
    try:
        return await client.get(resource, key)
    except NotFound:
        return None
