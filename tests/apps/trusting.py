"""Issuers and anchors as a controller is given them, and an authority that was given them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.config import Config
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import ANCHORS, ISSUER, TRUST
from isthmus.model.objects import ConfigMap, Key, Metadata, Secret
from isthmus.pki.anchor import create_anchor
from isthmus.pki.bundle import of
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, chain_pem, key_pem
from isthmus.runtime.cache import Gone, Listed, Put
from isthmus.runtime.clock import Clock
from tests.apps.clusters import START, VirtualClock

NAMESPACE = "isthmus"
DAY = timedelta(days=1)


def anchor(now: datetime = START) -> Pair:
    return create_anchor(MESH_DOMAIN, now)


def issuer(
    above: Pair, cluster: str = "east", now: datetime = START, lifetime: timedelta = 365 * DAY
) -> Pair:
    return create_issuer(above, cluster, MESH_DOMAIN, now, lifetime)


def issuer_secret(pair: Pair) -> Secret:
    return secret(chain_pem(pair.certificate), key_pem(pair.key))


def secret(certificate: bytes, key: bytes) -> Secret:
    data = {"tls.crt": certificate, "tls.key": key}
    return Secret(metadata=Metadata(name=ISSUER, namespace=NAMESPACE), data=data)


def trust_map(*anchors: Pair) -> ConfigMap:
    return config_map(of(each.certificate for each in anchors).pem().decode())


def config_map(text: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=TRUST, namespace=NAMESPACE), data={ANCHORS: text})


def put(authority: Authority, *objects: Secret | ConfigMap) -> None:
    """Let an authority see that these are there now."""
    for each in objects:
        if isinstance(each, Secret):
            authority.fold_secrets(Put(each))
        else:
            authority.fold_config_maps(Put(each))


def gone(name: str) -> Gone[Key]:
    return Gone(Key(NAMESPACE, name))


def fresh(clock: Clock | None = None, *there: Secret | ConfigMap) -> Authority:
    """An authority of east that has looked, and found only what is ``there``."""
    made = Authority(Config(cluster_name="east"), clock or VirtualClock(), Random(7))
    made.fold_secrets(Listed(tuple(each for each in there if isinstance(each, Secret))))
    made.fold_config_maps(Listed(tuple(each for each in there if isinstance(each, ConfigMap))))
    return made


def given(above: Pair, pair: Pair, clock: Clock | None = None) -> Authority:
    """An authority that has what it needs."""
    return fresh(clock, trust_map(above), issuer_secret(pair))


@asynccontextmanager
async def running(authority: Authority) -> AsyncIterator[Authority]:
    task = asyncio.create_task(authority.run())
    try:
        yield authority
    finally:
        task.cancel()
        await asyncio.wait({task})
