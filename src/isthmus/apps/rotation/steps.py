"""Carries out one step of a rotation in one cluster, if that is still as it was seen."""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta

from isthmus.apps.controller.certifying.trust import CERTIFICATE, KEY
from isthmus.apps.rotation.looking import Look, Site
from isthmus.kube.resources import CONFIG_MAPS, SECRETS
from isthmus.model.errors import Permanent
from isthmus.model.names import ANCHORS, ISSUER, TRUST
from isthmus.model.objects import Key
from isthmus.model.times import second_time
from isthmus.pki import bundle
from isthmus.pki.bundle import Bundle
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, chain_pem, fingerprint, key_pem
from isthmus.pki.rotation import Distribute, Drop, Reissue


class NoKey(Permanent):
    """An issuer is to be made without the anchor's key."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a driver has: the anchor to issue from, both anchors' certificates, a lifetime."""

    goal: Pair
    anchors: Bundle
    lifetime: timedelta


async def perform(
    step: Distribute | Reissue | Drop, site: Site, look: Look, means: Means, now: datetime
) -> str:
    """Write what the step says; return a line about it. Raise Conflict if others have written."""
    match step:
        case Distribute(cluster, wanted):
            more = [each for each in means.anchors.anchors if fingerprint(each) in wanted]
            await _trust(site, look, bundle.of((*look.bundle.anchors, *more)))
            return f"{cluster} trusts {_shown(wanted)} as well"
        case Drop(cluster, anchor):
            await _trust(site, look, look.bundle.without(anchor))
            return f"{cluster} does not trust {_shown({anchor})} any more"
        case Reissue(cluster, anchor):
            if fingerprint(means.goal.certificate) != anchor:
                raise NoKey(f"{cluster}: the key of the anchor {_shown({anchor})} is needed")
            _, _, mesh_domain = look.host.partition(".")
            made = create_issuer(means.goal, cluster, mesh_domain, now, means.lifetime)
            await _issue(site, look, made)
            until = second_time(made.certificate.not_valid_after_utc)
            return f"{cluster} has an issuer below {_shown({anchor})}, until {until}"


async def _trust(site: Site, look: Look, wanted: Bundle) -> None:
    patch = {
        "metadata": {"resourceVersion": look.bundle_version},
        "data": {ANCHORS: wanted.pem().decode()},
    }
    await site.client.merge_patch(CONFIG_MAPS, Key(site.namespace, TRUST), patch)


async def _issue(site: Site, look: Look, made: Pair) -> None:
    data = {CERTIFICATE: chain_pem(made.certificate), KEY: key_pem(made.key)}
    patch = {
        "metadata": {"resourceVersion": look.issuer_version},
        "data": {name: b64encode(value).decode() for name, value in data.items()},
    }
    await site.client.merge_patch(SECRETS, Key(site.namespace, ISSUER), patch)


def _shown(anchors: frozenset[str] | set[str]) -> str:
    return " and ".join(sorted(each[:16] for each in anchors))
