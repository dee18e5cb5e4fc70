"""Hears from proxies which certificate they use and whom they trust; tells them what is current.

``POST /v1/using``, under the certificate in use: whoever shows it has it. The answer lets a proxy
notice within seconds that the issuer is another, long before its certificate is due.
"""

import ssl
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec
from aiohttp import web
from cryptography import x509

from isthmus.apps.controller.certifying.answering import answer, read, refusal
from isthmus.apps.controller.certifying.authority import Authority, NoAuthority
from isthmus.apps.controller.certifying.refusal import Reason, Refused
from isthmus.apps.controller.outside import Outside
from isthmus.apps.signed import USING_PATH, Current, Using
from isthmus.model.identities import Identity
from isthmus.model.syntax import is_subdomain
from isthmus.model.wire import UNREADABLE
from isthmus.pki.bundle import MOST_ANCHORS
from isthmus.pki.keys import fingerprint, read_certificates
from isthmus.pki.pem import BadPem
from isthmus.pki.seen import Report
from isthmus.pki.verify import Untrusted, anchor_of, pod_of, read_leaf, verify

LARGEST = 16 * 1024  # bytes of what a proxy says
MOST = 4096  # proxies
LONGEST_FINGERPRINT = 64

Told = Callable[[], object]


class Witness:
    """``entitled`` says which role an identity has."""

    def __init__(
        self, authority: Authority, entitled: Callable[[Identity], str | None], outside: Outside
    ) -> None:
        self.authority = authority
        self._entitled = entitled
        self._outside = outside
        self._heard: OrderedDict[str, Report] = OrderedDict()  # by the proxy's name, oldest first
        self._told: list[Told] = []

    @property
    def reports(self) -> Mapping[str, Report]:
        """What each proxy has said last, to this replica."""
        return self._heard

    @property
    def route(self) -> web.RouteDef:
        return web.post(USING_PATH, self._serve)

    def tell(self, told: Told) -> None:
        """Have ``told`` called whenever a proxy says something else than before."""
        self._told.append(told)

    def hear(self, leaf: x509.Certificate, said: Using) -> Current:
        """Note what a proxy says, if its certificate proves it; return what it should use."""
        try:
            trust = self.authority.trust
            issuer, *others = read_certificates(said.issuer, "the issuer")
            who = verify((leaf, issuer, *others), trust.anchors, self._outside.clock.utc())
        except NoAuthority as error:
            raise Refused(Reason.UNAVAILABLE, str(error), 30.0) from None
        except BadPem as error:
            raise Refused(Reason.MALFORMED, str(error)) from None
        except Untrusted as error:
            raise Refused(Reason.FORBIDDEN, str(error)) from None
        if self._entitled(who) is None:
            raise Refused(Reason.FORBIDDEN, f"{who} is not a proxy of this cluster")
        if not is_subdomain(said.name) or not _are_fingerprints(said.anchors):
            raise Refused(Reason.MALFORMED, "not a pod's name, or not fingerprints")
        above = fingerprint(anchor_of(issuer, trust.anchors))
        now = self._outside.cluster_time()
        # One that names no pod was signed before certificates did.
        name = pod_of(leaf) or said.name
        self._note(name, Report(now, frozenset(said.anchors), frozenset((above,))))
        return Current(fingerprint(trust.issuer.certificate), trust.anchors.fingerprints)

    def _note(self, name: str, report: Report) -> None:
        before = self._heard.pop(name, None)
        self._heard[name] = report
        if len(self._heard) > MOST:
            self._heard.popitem(last=False)
        if before is None or (before.trusts, before.chains_to) != (report.trusts, report.chains_to):
            for told in self._told:
                told()

    async def _serve(self, request: web.Request) -> web.Response:
        try:
            body = await read(request.content, LARGEST)
            return answer(200, self.hear(_leaf(request), statement(body)))
        except Refused as refused:
            return refusal(refused)


def _leaf(request: web.Request) -> x509.Certificate:
    connection = request.get_extra_info("ssl_object")
    shown = connection.getpeercert(True) if isinstance(connection, ssl.SSLObject) else None
    if not shown:
        raise Refused(Reason.FORBIDDEN, "show the certificate that you use")
    try:
        return read_leaf(shown)
    except Untrusted as error:
        raise Refused(Reason.FORBIDDEN, str(error)) from None


def statement(body: bytes) -> Using:
    """Return what a proxy says of itself; raise :class:`Refused` if it is something else."""
    try:
        return msgspec.json.decode(body, type=Using)
    except UNREADABLE:
        raise Refused(Reason.MALFORMED, "this is not what a proxy says of itself") from None


def _are_fingerprints(found: tuple[str, ...]) -> bool:
    return len(found) <= MOST_ANCHORS and all(
        0 < len(each) <= LONGEST_FINGERPRINT and each.isalnum() for each in found
    )
