"""The cluster's certificate authority: follows its issuer and anchors, and keeps leaves fresh.

Whoever signs, serves or calls asks here at the moment of need, so that a new issuer or bundle
counts from then on and no process is ever restarted for it.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from isthmus.apps import credentials, freshness
from isthmus.apps.controller.certifying.trust import (
    Choice,
    Trust,
    choose,
    proved,
    read_anchors,
    read_issuer,
)
from isthmus.apps.controller.config import Config
from isthmus.apps.credentials import Credentials
from isthmus.apps.freshness import Due
from isthmus.catalogue.errors import NoIdentity
from isthmus.kube.requests import Selection
from isthmus.model.identities import Identity
from isthmus.model.names import CONTROLLER, ISSUER, TRUST
from isthmus.model.objects import ConfigMap, Key, Secret
from isthmus.pki import keys
from isthmus.pki.bundle import Bundle
from isthmus.pki.issue import issue
from isthmus.pki.shape import CannotIssue
from isthmus.pki.verify import Untrusted
from isthmus.runtime.cache import Cache, Event
from isthmus.runtime.clock import Clock

Told: TypeAlias = Callable[[], object]

LOOK = 60.0  # seconds between two looks at what is due

log = logging.getLogger(__name__)


class NoAuthority(NoIdentity):
    """There is no issuer yet, or none that can be used."""


@dataclass(slots=True)
class _Kept:
    """A leaf, and when to get another."""

    credentials: Credentials
    due: Due
    is_wanted: bool = True  # whether anybody has asked since the last look


class Authority:
    """What this replica signs with, whom it trusts, and who it is itself."""

    def __init__(self, config: Config, clock: Clock, random: Random) -> None:
        self.identity = Identity(
            config.cluster_name, config.mesh_domain, config.namespace, CONTROLLER
        )
        self.ready = asyncio.Event()  # set once there is something to sign with
        self._clock = clock
        self._random = random
        self._secrets: Cache[Key, Secret] = Cache(lambda one: one.metadata.key)
        self._config_maps: Cache[Key, ConfigMap] = Cache(lambda one: one.metadata.key)
        self._issuer_key = Key(config.namespace, ISSUER)
        self._anchors_key = Key(config.namespace, TRUST)
        self._trust: Trust | None = None
        self._own: _Kept | None = None
        self._accounts: dict[Identity, _Kept] = {}
        self._unfit = ""  # what is wrong with what we were given last
        self._overdue = ""  # why a leaf that is due has not been renewed
        self._said = ""
        self._told: list[Told] = []
        self._server: ssl.SSLContext | None = None  # made anew when what is in it changes
        self._client: ssl.SSLContext | None = None

    # What the cluster says.

    @property
    def selections(self) -> tuple[Selection, Selection]:
        """Which Secret and which ConfigMap to follow."""
        secret, config_map = (
            Selection(namespace=key.namespace, fields=f"metadata.name={key.name}")
            for key in (self._issuer_key, self._anchors_key)
        )
        return secret, config_map

    def fold_secrets(self, event: Event[Key, Secret]) -> None:
        self._secrets.fold(event)
        self._settle()

    def fold_config_maps(self, event: Event[Key, ConfigMap]) -> None:
        self._config_maps.fold(event)
        self._settle()

    # What others ask.

    def tell(self, told: Told) -> None:
        """Have ``told`` called whenever trust, our own leaf or an account's leaf is due anew."""
        self._told.append(told)

    @property
    def trust(self) -> Trust:
        if self._trust is None:
            raise NoAuthority(f"this cluster has no certificate authority: {self._unfit}")
        return self._trust

    @property
    def anchors(self) -> Bundle:
        """Whom to trust."""
        return self.trust.anchors

    @property
    def own(self) -> Credentials:
        """Who we are."""
        if self._own is None:
            raise NoAuthority(f"this controller has no certificate: {self._unfit}")
        return self._own.credentials

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with what we were given, one sentence each; nothing, if all is well."""
        untimely = self._trust.anchors.problems(self._clock.utc()) if self._trust else ()
        return tuple(filter(None, (self._unfit, self._overdue, *untimely)))

    @property
    def expiries(self) -> Mapping[str, datetime]:
        """When what we use ends. Of several anchors, the one that our issuer is below of."""
        if self._trust is None or self._own is None:
            return {}
        issuer = self._trust.issuer.certificate
        above = (each for each in self._trust.anchors.anchors if each.subject == issuer.issuer)
        return {
            "anchor": min(each.not_valid_after_utc for each in above),
            "issuer": issuer.not_valid_after_utc,
            "own": self._own.credentials.not_after,
        }

    def leaf(
        self, identity: Identity, public_key: ec.EllipticCurvePublicKey, pod: str = ""
    ) -> tuple[x509.Certificate, x509.Certificate]:
        """Certify that ``public_key`` is of ``identity``; return the leaf and its issuer."""
        issuer = self.trust.issuer
        return issue(issuer, identity, public_key, self._clock.utc(), pod), issuer.certificate

    def account(self, namespace: str, account: str) -> Credentials:
        """Return what a service account of this cluster proves itself with.

        It is kept as long as somebody asks again when told, and made anew when it is due.
        """
        who = self.identity._replace(namespace=namespace, account=account)
        kept = self._accounts.get(who)
        if kept is not None:
            kept.is_wanted = True
        if kept is None or self._is_due(kept):
            try:
                kept = self._keep(self._made(who))
            except CannotIssue:
                if kept is None or kept.credentials.not_after <= self._clock.utc():
                    raise
            self._accounts[who] = kept
        return kept.credentials

    def server_context(self) -> ssl.SSLContext:
        """Return a context for a server, in which what we show and trust is always the newest."""
        return credentials.current(self._server_context)

    def client_context(self) -> ssl.SSLContext:
        """Return a context that shows who we are and verifies chains, as of now."""
        if self._client is None:
            self._client = credentials.client_context(self.anchors, self.own)
        return self._client

    def peer(self, connection: ssl.SSLObject) -> Identity | None:
        """Return whom the other side of a connection of ours proves to be."""
        return credentials.peer(connection, self.identity.mesh_domain)

    # What happens by itself.

    async def run(self) -> None:
        """Keep everything fresh, for ever."""
        while True:
            await self._clock.sleep(LOOK)
            if self._unfit:
                self._settle()  # what is not valid yet may be by now
            self._renew()

    def _server_context(self) -> ssl.SSLContext:
        if self._server is None:
            self._server = credentials.server_context(self.own, self.anchors)
        return self._server

    def _settle(self) -> None:
        """Use the newest that can be used; say once what cannot."""
        if not (self._secrets.synced and self._config_maps.synced):
            return
        issuer = read_issuer(
            self._secrets.objects.get(self._issuer_key), self._issuer_key, self.identity.cluster
        )
        anchors = read_anchors(self._config_maps.objects.get(self._anchors_key), self._anchors_key)
        choice, self._unfit = choose(issuer, anchors, self._trust, self.identity, self._clock.utc())
        if choice is not None and choice.trust != self._trust:
            self._turn_to(choice)
        self._speak()

    def _turn_to(self, choice: Choice) -> None:
        self._trust = choice.trust
        for kept in self._accounts.values():
            kept.due = freshness.now(self._clock)
        log.info(
            "trust is another",
            extra={
                "issuer": f"{choice.trust.issuer.certificate.serial_number:x}",
                "anchors": [each[:16] for each in choice.trust.anchors.fingerprints],
            },
        )
        self._use(choice.own)

    def _use(self, own: Credentials) -> None:
        self._own, self._overdue = self._keep(own), ""
        self._server = self._client = None
        self.ready.set()
        self._tell()

    def _renew(self) -> None:
        """Renew our own leaf; let those who use accounts' leaves ask for new ones."""
        for who, kept in list(self._accounts.items()):
            if self._is_due(kept) and not kept.is_wanted:
                del self._accounts[who]
        due = [kept for kept in self._accounts.values() if self._is_due(kept)]
        for kept in due:
            kept.is_wanted = False
        self._overdue = ""
        if self._trust is not None and self._own is not None and self._is_due(self._own):
            try:
                self._use(proved(self._trust, self.identity, self._clock.utc()))
            except (CannotIssue, Untrusted) as error:
                self._overdue = str(error)
        self._speak()
        if due:
            self._tell()

    def _made(self, who: Identity) -> Credentials:
        key = keys.new_key()
        return Credentials(*self.leaf(who, key.public_key()), key)

    def _keep(self, made: Credentials) -> _Kept:
        return _Kept(made, freshness.due(made, self._clock, self._random))

    def _is_due(self, kept: _Kept) -> bool:
        return kept.due.has_come(self._clock)

    def _speak(self) -> None:
        """Say what is wrong, once; a sentence that differs in its numbers only is the same."""
        problem = self._unfit or self._overdue
        said, self._said = self._said, re.sub(r"\d+", "0", problem)
        if not problem or self._said == said:
            return
        if self._trust is None and not self._secrets.objects:
            # Whoever reads targets by their API needs no certificates.
            log.info("no certificates are signed", extra={"reason": problem})
            return
        in_use = "the last good ones stay in use" if self._trust else "nothing is signed"
        log.warning("issuer or anchors cannot be used", extra={"error": problem, "so": in_use})

    def _tell(self) -> None:
        for told in self._told:
            told()
