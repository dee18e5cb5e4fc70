"""Whose token this is: the API server says so, and nobody is believed by what a token claims.

A review costs the API server work, so that a source gets only so many and they take turns; what
was proven a moment ago is proven still, which is what makes a flood with one token cheap.
"""

import asyncio
import logging
from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple

from isthmus.apps.controller.certifying.refusal import Reason, Refused
from isthmus.kube.client import Client
from isthmus.kube.resources import TOKEN_REVIEWS
from isthmus.model.errors import IsthmusError
from isthmus.model.identities import Identity, NotAnIdentity, parse
from isthmus.model.names import audience
from isthmus.model.reviews import TokenReview, TokenReviewSpec, TokenReviewStatus
from isthmus.runtime.buckets import Buckets, Rate
from isthmus.runtime.clock import Clock
from isthmus.runtime.turns import Crowded, Turns

log = logging.getLogger(__name__)

REVIEWS = Rate(burst=60, per_second=6)  # of one source, while nothing is remembered
AT_ONCE = 4  # reviews; the API server is there for others, too
PATIENCE = 10.0  # seconds for a review, its turn included
# Seconds for which the token of a deleted pod is still good, at most; besides those for which the
# API server itself remembers what it has proven, which are ten.
MEMORY = 5.0
MOST_REMEMBERED = 4096
LONGEST_TOKEN = 8000  # characters; the server takes no longer header
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"

_UNPROVEN = (
    "the token proves nobody here: it has expired, its pod is gone, or it is not one of this "
    "cluster for the audience {audience}"
)


class Holder(NamedTuple):
    """Whose token it is: a service account, through one of its pods."""

    identity: Identity
    pod: str


class Tokens:
    """Tells whose a token is, as ``own`` cluster's API server sees it."""

    def __init__(self, client: Client, own: Identity, clock: Clock) -> None:
        self._client = client
        self._own = own
        self._audience = audience(own.cluster)
        self._clock = clock
        self._reviews: Buckets[str] = Buckets(REVIEWS)
        self._turns: Turns[str] = Turns(AT_ONCE, line=256, waiting=1024)
        self._proven: OrderedDict[bytes, tuple[float, Holder]] = OrderedDict()

    async def holder(self, token: str, source: str) -> Holder:
        """Return whose ``token`` is, which came from ``source``; raise :class:`Refused`."""
        digest = sha256(token.encode(errors="surrogatepass")).digest()
        if (known := self._remembered(digest)) is not None:
            return known
        if not token.isascii() or not token.isprintable() or len(token) > LONGEST_TOKEN:
            raise self._unproven()
        try:
            async with asyncio.timeout(PATIENCE), self._turns.turn(source):
                # Somebody before us in the line may have had the same token.
                if (known := self._remembered(digest)) is not None:
                    return known
                wait = self._reviews.take(source, self._clock.now())
                if wait:
                    text = "too many tokens came from this address"
                    raise Refused(Reason.TOO_MANY, text, wait)
                return await self._review(token, digest)
        except TimeoutError:
            raise Refused(Reason.UNAVAILABLE, "the API server is too slow now", 5.0) from None
        except Crowded as error:
            raise Refused(Reason.TOO_MANY, str(error), 5.0) from None

    def _remembered(self, digest: bytes) -> Holder | None:
        until, found = self._proven.get(digest, (0.0, None))
        return found if self._clock.now() < until else None

    async def _review(self, token: str, digest: bytes) -> Holder:
        asked = TokenReview(spec=TokenReviewSpec(token=token, audiences=(self._audience,)))
        try:
            status = (await self._client.review(TOKEN_REVIEWS, asked)).status
        except IsthmusError as error:
            log.warning("a token could not be reviewed", extra={"error": str(error)})
            text = "tokens cannot be reviewed now; the controller's log says why"
            raise Refused(Reason.UNAVAILABLE, text, 5.0) from None
        found = self._proved(status)
        self._proven[digest] = (self._clock.now() + MEMORY, found)
        self._proven.move_to_end(digest)
        if len(self._proven) > MOST_REMEMBERED:
            self._proven.popitem(last=False)
        return found

    def _proved(self, status: TokenReviewStatus) -> Holder:
        # An API server that knows no audiences answers without any: the token is for somebody else.
        if not status.authenticated or self._audience not in status.audiences:
            raise self._unproven()
        user, kind, namespace, account = (status.user.username.split(":") + [""] * 4)[:4]
        if (user, kind) != ("system", "serviceaccount") or status.user.username.count(":") != 3:
            raise Refused(Reason.FORBIDDEN, "certificates are for service accounts only")
        found = self._own._replace(namespace=namespace, account=account)
        try:
            parse(str(found), found.mesh_domain)
        except NotAnIdentity:
            raise Refused(Reason.FORBIDDEN, "the account's name fits in no certificate") from None
        pods = status.user.extra.get(POD_NAME, ())
        if len(pods) != 1 or not status.user.extra.get(POD_UID):
            raise Refused(
                Reason.FORBIDDEN,
                "the token is not bound to a pod; use one that the pod mounts (projected)",
            )
        return Holder(found, pods[0])

    def _unproven(self) -> Refused:
        return Refused(Reason.UNAUTHENTICATED, _UNPROVEN.format(audience=self._audience))
