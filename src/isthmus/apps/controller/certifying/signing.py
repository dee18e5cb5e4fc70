"""Signs certificates: a service account's token says who, a request says with which key.

``POST /v1/sign``, the token as bearer, the request (CSR) in PEM as the body. Of the request only
the key is taken, and only if it is proved; the name is computed from the token.
"""

import logging
from collections import Counter
from collections.abc import Sequence

from aiohttp import web

from isthmus.apps.controller.certifying.answering import Body, answer, read, refusal, too_large
from isthmus.apps.controller.certifying.authority import Authority, NoAuthority
from isthmus.apps.controller.certifying.refusal import Reason, Refused
from isthmus.apps.controller.certifying.sources import source
from isthmus.apps.controller.certifying.tokens import Holder, Tokens
from isthmus.apps.signed import PATH, Signed
from isthmus.model.times import second_time
from isthmus.pki.issue import LARGEST_CSR, BadCsr, key_of
from isthmus.pki.keys import chain_pem
from isthmus.pki.shape import CannotIssue
from isthmus.runtime.buckets import Buckets, Rate
from isthmus.runtime.clock import Clock

log = logging.getLogger(__name__)

SIGNATURES = Rate(burst=60, per_second=2)  # of one identity: a Deployment's replicas share one


class Signing:
    """Answers requests for certificates, and counts what it answered."""

    def __init__(self, authority: Authority, tokens: Tokens, clock: Clock) -> None:
        self.issued = 0
        self.refused: Counter[Reason] = Counter()
        self._authority = authority
        self._tokens = tokens
        self._clock = clock
        self._buckets: Buckets[str] = Buckets(SIGNATURES)

    @property
    def route(self) -> web.RouteDef:
        return web.post(PATH, self._serve)

    async def sign(self, origin: str, authorization: Sequence[str], body: Body) -> Signed:
        """Return a certificate for whoever the token proves; raise :class:`Refused`."""
        try:
            return await self._sign(origin, authorization, body)
        except Refused as refused:
            self.refused[refused.reason] += 1
            # A crowd must not fill the log with its refusals; they are counted.
            level = logging.DEBUG if refused.reason is Reason.TOO_MANY else logging.INFO
            extra = {"source": origin, "reason": refused.reason.name, "error": str(refused)}
            log.log(level, "certificate refused", extra=extra)
            raise

    async def _sign(self, origin: str, authorization: Sequence[str], body: Body) -> Signed:
        holder = await self._tokens.holder(_token(authorization), origin)
        wait = self._buckets.take(str(holder.identity), self._clock.now())
        if wait:
            raise Refused(Reason.TOO_MANY, f"{holder.identity} asks too often", wait)
        csr = await read(body, LARGEST_CSR)
        try:
            key = key_of(csr)
        except BadCsr as error:
            raise Refused(Reason.MALFORMED, str(error)) from None
        try:
            leaf, issuer = self._authority.leaf(holder.identity, key, holder.pod)
        except (NoAuthority, CannotIssue) as error:
            raise Refused(Reason.UNAVAILABLE, str(error), 30.0) from None
        signed = Signed(
            chain_pem(leaf, issuer).decode(),
            self._authority.anchors.pem().decode(),
            second_time(leaf.not_valid_after_utc),
        )
        self.issued += 1
        _record(holder, f"{leaf.serial_number:x}", signed.not_after)
        return signed

    async def _serve(self, request: web.Request) -> web.Response:
        given = request.headers.getall("Authorization", ())
        try:
            if (request.content_length or 0) > LARGEST_CSR:
                raise too_large(LARGEST_CSR)
            signed = await self.sign(source(request.remote), given, request.content)
        except Refused as refused:
            return refusal(refused)
        return answer(200, signed)


def _record(holder: Holder, serial: str, not_after: str) -> None:
    """Write the line by which an auditor knows every certificate that there is."""
    log.info(
        "certificate issued",
        extra={
            "serial": serial,
            "identity": str(holder.identity),
            "not_after": not_after,
            "pod": holder.pod,
        },
    )


def _token(authorization: Sequence[str]) -> str:
    scheme, _, token = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused(
            Reason.UNAUTHENTICATED, "send one service account's token: Authorization: Bearer …"
        )
    return token.strip()
