"""Keeps a proxy's certificate fresh: obtained before it is needed, replaced long before it ends.

What is there stays in use until there is something better: a controller that is away, a bad bundle
or a full disk cost nothing as long as the certificate holds.

Anchors come from a mounted file, which lags behind the cluster, and with every answer of a
controller, which may lag, too: both count, because who trusts too few is cut off.

At every look the controller is told what is in use, and says what it uses itself: another issuer,
or an anchor that is not trusted here yet, is a reason to renew long before it is time.
"""

import asyncio
import logging
from pathlib import Path
from random import Random
from typing import Protocol

from isthmus.apps import freshness
from isthmus.apps.credentials import Credentials
from isthmus.apps.proxy.asking import Unsigned
from isthmus.apps.proxy.files import Files
from isthmus.apps.signed import Current, Signed
from isthmus.kube.document import Place
from isthmus.kube.entries import read
from isthmus.kube.errors import BadConfig
from isthmus.model.errors import IsthmusError
from isthmus.model.identities import Identity
from isthmus.model.times import second_time
from isthmus.pki import bundle, keys
from isthmus.pki.bundle import BadBundle, Bundle
from isthmus.pki.pem import BadPem
from isthmus.pki.verify import Untrusted, verify
from isthmus.runtime.backoff import Backoff, Retries
from isthmus.runtime.clock import GRAIN, Clock

log = logging.getLogger(__name__)

LOOK = 10.0  # seconds between two looks at the bundle and the clock
RECONSIDER = 30.0  # seconds between two renewals because of what a controller says
BACKOFF = Backoff(first=1.0, cap=60.0)
WARN, ALARM = 0.8, 0.95  # of the lifetime


class Signer(Protocol):
    """Whoever signs; a test may be one."""

    async def sign(self, csr: bytes, anchors: Bundle) -> Signed: ...

    async def tell(self, own: Credentials, anchors: Bundle) -> Current:
        """Say what is in use; return what should be."""
        ...


class Keeper:
    """Holds one certificate with its key, in memory and in files that Envoy reads."""

    def __init__(
        self,
        identity: Identity,
        signer: Signer,
        trust: Path,
        files: Files,
        clock: Clock,
        *,
        random: Random | None = None,
    ) -> None:
        self.ready = asyncio.Event()  # set once Envoy can be started
        self.quiet = asyncio.Lock()  # held while a controller is being asked
        self.own: Credentials | None = None
        self.anchors: Bundle | None = None
        self._identity = identity
        self._signer = signer
        self._trust = trust
        self._files = files
        self._clock = clock
        self._random = random or Random()
        self._retries = Retries(BACKOFF, self._random)
        self._raw: bytes | None = None  # what the file had, when it could be used last
        self._mounted: Bundle | None = None
        self._wrong = ""  # with the file
        self._due = freshness.now(clock)
        self._not_before = clock.now()  # no attempt before, after one that failed
        self._reconsider = clock.now()  # no renewal before, because of what a controller says
        self._unheard = ""  # why it was not told what is in use
        self._since = clock.utc()  # when what is in use was obtained
        self._said = 0.0  # at which share of the lifetime something was said last

    async def run(self) -> None:
        """Keep the certificate fresh, for ever."""
        while True:
            async with self.quiet:
                try:
                    await self.look()
                except IsthmusError as error:
                    self._failed(error)
                self._warn()
                is_outdated = await self._is_outdated()
            if not is_outdated:
                await self._clock.sleep(self._pause())

    async def look(self) -> None:
        """Take in a bundle that has changed, and renew what is due."""
        self._follow_bundle()
        if self.anchors is None or self._clock.now() < self._not_before:
            return
        if self._due.has_come(self._clock):
            await self._renew(self.anchors)

    def _pause(self) -> float:
        """How long until the next look; what has failed is tried again as soon as it may be."""
        if self.anchors is None or not self._due.has_come(self._clock):
            return LOOK
        return min(LOOK, max(GRAIN, self._not_before - self._clock.now()))

    async def _is_outdated(self) -> bool:
        """Tell the controller what is in use; return whether something newer can be had at once."""
        if self.own is None or self.anchors is None:
            return False
        try:
            current = await self._signer.tell(self.own, self.anchors)
        except IsthmusError as error:
            if str(error) != self._unheard:
                self._unheard = str(error)
                log.info("the controller is not told what is in use", extra={"error": str(error)})
            return False
        self._unheard = ""
        lacking = set(current.anchors) - set(self.anchors.fingerprints)
        if current.issuer == keys.fingerprint(self.own.issuer) and not lacking:
            return False
        # Replicas of the controller may differ for a while: who asks all the time gains nothing.
        if self._clock.now() < max(self._reconsider, self._not_before):
            return False
        self._reconsider = self._clock.now() + RECONSIDER
        self._due = freshness.now(self._clock)
        return True

    def _follow_bundle(self) -> None:
        """Use the mounted anchors, if they are others than before, and renew by them at once."""
        try:
            raw = read(self._trust, Place(str(self._trust)))
            found = self._mounted if raw == self._raw else bundle.parse(raw)
        except (BadConfig, BadPem, BadBundle) as error:
            if str(error) != self._wrong:
                self._wrong = str(error)
                extra = {"file": str(self._trust), "error": str(error)}
                log.warning("the trust bundle cannot be used; the last one stays", extra=extra)
            return
        self._wrong = ""
        if found is None or raw == self._raw:
            return
        self._use_anchors(found)
        self._raw, self._mounted = raw, found
        self._due, self._not_before = freshness.now(self._clock), self._clock.now()

    def _use_anchors(self, found: Bundle) -> None:
        if found != self.anchors:
            self._files.write_anchors(found)
            self.anchors = found
            log.info("trust anchors", extra={"anchors": [each[:16] for each in found.fingerprints]})

    async def _renew(self, anchors: Bundle) -> None:
        key = keys.new_key()
        signed = await self._signer.sign(keys.csr(key), anchors)
        mounted = self._mounted.anchors if self._mounted else ()
        try:
            trusted = bundle.of((*mounted, *bundle.parse(signed.anchors).anchors))
            chain = keys.read_certificates(signed.chain, "the chain")
            found = verify(chain, trusted, self._clock.utc())
        except (BadPem, BadBundle, Untrusted) as error:
            raise Unsigned(f"the controller's answer cannot be used: {error}") from None
        leaf, issuer = chain
        if leaf.public_key() != key.public_key():
            raise Unsigned("the controller's answer is for another key")
        if found != self._identity:
            raise Unsigned(
                f"the pod's token is of {found.namespace}/{found.account}, but this proxy has to "
                f"run as {self._identity.namespace}/{self._identity.account}"
            )
        self._use_anchors(trusted)
        self._use(Credentials(leaf, issuer, key))

    def _use(self, own: Credentials) -> None:
        self._files.write_own(own)
        self.own = own
        self._since = self._clock.utc()
        self._due = freshness.due(own, self._clock, self._random)
        self._retries.reset()
        self._said = 0.0
        self.ready.set()
        log.info(
            "certificate obtained",
            extra={
                "serial": f"{own.leaf.serial_number:x}",
                "identity": str(self._identity),
                "not_after": second_time(own.not_after),
                "renewed_at": second_time(self._due.wall),
            },
        )

    def _failed(self, error: IsthmusError) -> None:
        wait = self._retries.failed()
        if self.own is None:
            wait = min(wait, LOOK)  # it serves nobody yet, and a controller may start at any moment
        if isinstance(error, Unsigned):
            wait = max(wait, error.retry_after)
        self._not_before = self._clock.now() + wait
        log.warning(
            "no certificate; will try again",
            extra={"error": str(error), "seconds": round(wait, 1), "holds_until": self._until()},
        )

    def _warn(self) -> None:
        """Say, once for each, that a good part of the lifetime is over."""
        if self.own is None:
            return
        used = (self._clock.utc() - self._since) / (self.own.not_after - self._since)
        for share, level in ((WARN, logging.WARNING), (ALARM, logging.ERROR), (1.0, logging.ERROR)):
            if self._said < share <= used:
                self._said = share
                text = "certificate has ended" if share == 1.0 else "certificate is not renewed"
                log.log(level, text, extra={"used": f"{share:.0%}", "not_after": self._until()})

    def _until(self) -> str:
        return second_time(self.own.not_after) if self.own else ""
