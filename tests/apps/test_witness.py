"""What a proxy says of itself is believed as far as its certificate proves it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.front import Front, Place
from isthmus.apps.controller.certifying.refusal import Reason, Refused
from isthmus.apps.controller.certifying.witness import MOST, Witness, statement
from isthmus.apps.controller.outside import Outside
from isthmus.apps.credentials import Credentials
from isthmus.apps.proxy.asking import Controller, Unsigned
from isthmus.apps.signed import Current, Using
from isthmus.model.identities import Identity
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.pki.keys import Pair, chain_pem, fingerprint, new_key
from isthmus.pki.seen import Report
from isthmus.runtime.clock import Clock, SystemClock
from tests.apps.clusters import START, VirtualClock, place
from tests.apps.trusting import anchor, given, issuer, issuer_secret, put, trust_map
from tests.support.waiting import eventually

NOW = SystemClock().utc()
OLD, NEW = anchor(), anchor()
EAST = issuer(OLD)


def entitled(who: Identity) -> str | None:
    return {GATEWAY: "gateway", EGRESS: "egress"}.get(who.account)


def witness(authority: Authority, clock: Clock | None = None) -> Witness:
    client = place("east").client
    return Witness(authority, entitled, Outside(client=client, clock=clock or VirtualClock()))


def using(own: Credentials, *anchors: Pair, name: str = "gw-1") -> Using:
    trusted = tuple(fingerprint(one.certificate) for one in anchors)
    return Using(name, chain_pem(own.issuer).decode(), trusted)


def prints(*anchors: Pair) -> frozenset[str]:
    return frozenset(fingerprint(one.certificate) for one in anchors)


async def test_what_a_proxy_uses_is_noted_and_what_is_current_answered() -> None:
    authority = given(OLD, EAST)
    here = witness(authority)
    told: list[int] = []
    here.tell(lambda: told.append(len(here.reports)))
    own = authority.account("isthmus", GATEWAY)
    trusted = (fingerprint(OLD.certificate),)
    answer = here.hear(own.leaf, using(own, OLD))
    assert answer == Current(fingerprint(EAST.certificate), trusted)
    assert here.reports == {"gw-1": Report(START, prints(OLD), prints(OLD))}
    put(authority, trust_map(OLD, NEW), issuer_secret(newer := issuer(NEW)))
    await asyncio.sleep(5)
    answer = here.hear(own.leaf, using(own, OLD))
    assert answer.issuer == fingerprint(newer.certificate)
    assert set(answer.anchors) == prints(OLD, NEW)
    assert here.reports["gw-1"].at == START + timedelta(seconds=5)
    assert told == [1]  # nothing is new but the time
    own = authority.account("isthmus", GATEWAY)
    here.hear(own.leaf, using(own, OLD, NEW))
    assert here.reports["gw-1"].trusts == prints(OLD, NEW)
    assert here.reports["gw-1"].chains_to == prints(NEW)
    assert told == [1, 1]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"name": "gw"}', id="half of it"),
        pytest.param(b'{"name": "\xff", "issuer": "", "anchors": []}', id="no text"),
        pytest.param(b"[" * 16_000, id="bottomless"),
    ],
)
def test_what_is_no_statement_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        statement(body)
    assert refused.value.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "account, said, reason",
    [
        pytest.param(CONTROLLER, {}, Reason.FORBIDDEN, id="no proxy"),
        pytest.param(GATEWAY, {"name": "-"}, Reason.MALFORMED, id="no pod's name"),
        pytest.param(GATEWAY, {"anchors": ("a b",)}, Reason.MALFORMED, id="no fingerprint"),
        pytest.param(GATEWAY, {"anchors": ("a" * 65,)}, Reason.MALFORMED, id="too long"),
        pytest.param(GATEWAY, {"anchors": ("a",) * 17}, Reason.MALFORMED, id="too many"),
        pytest.param(GATEWAY, {"issuer": "canary"}, Reason.MALFORMED, id="no issuer"),
        pytest.param(
            GATEWAY,
            {"issuer": chain_pem(issuer(OLD).certificate).decode()},
            Reason.FORBIDDEN,
            id="another issuer",
        ),
        pytest.param(
            GATEWAY,
            {"issuer": chain_pem(EAST.certificate, OLD.certificate).decode()},
            Reason.FORBIDDEN,
            id="a longer chain",
        ),
    ],
)
async def test_others_are_not_believed(
    account: str, said: dict[str, object], reason: Reason
) -> None:
    authority = given(OLD, EAST)
    here = witness(authority)
    own = authority.account("isthmus", account)
    good = {"name": "gw-1", "issuer": chain_pem(own.issuer).decode(), "anchors": ("a",)}
    with pytest.raises(Refused) as refused:
        here.hear(own.leaf, Using(**(good | said)))  # type: ignore[arg-type]  # some are wrong
    assert refused.value.reason is reason
    assert "canary" not in str(refused.value)
    assert dict(here.reports) == {}


async def test_a_proxy_speaks_for_the_pod_that_got_its_certificate_and_for_no_other() -> None:
    authority = given(OLD, EAST)
    here = witness(authority)
    who, key = authority.identity._replace(account=GATEWAY), new_key()
    own = Credentials(*authority.leaf(who, key.public_key(), "gw-1"), key)
    here.hear(own.leaf, using(own, OLD, NEW, name="gw-2"))
    assert here.reports == {"gw-1": Report(START, prints(OLD, NEW), prints(OLD))}


async def test_so_many_proxies_are_remembered_and_the_longest_silent_are_not() -> None:
    authority = given(OLD, EAST)
    here = witness(authority)
    own = authority.account("isthmus", GATEWAY)
    leaf, report = own.leaf, Report(START, prints(OLD), prints(OLD))
    for number in range(MOST):
        here._note(f"gw-{number}", report)
    here.hear(leaf, using(own, OLD, name="gw-0"))
    here.hear(leaf, using(own, OLD, name="one-more"))
    assert len(here.reports) == MOST
    assert {"gw-0", "one-more"} <= here.reports.keys()
    assert "gw-1" not in here.reports


@asynccontextmanager
async def served(authority: Authority) -> AsyncIterator[tuple[Witness, Controller]]:
    here = witness(authority, SystemClock())
    front, app = Front(authority, Place("127.0.0.1", 0)), web.Application()
    app.add_routes([here.route])
    task = asyncio.create_task(front.run(app))
    try:
        await eventually(front.listening.is_set)
        at = ("127.0.0.1", front.port)
        yield here, Controller(at, authority.identity, Path("none"), "gw-1")
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.sockets
async def test_a_proxy_proves_over_tls_what_it_uses() -> None:
    above = anchor(NOW)
    authority = given(above, issuer(above, now=NOW), SystemClock())
    async with served(authority) as (here, controller):
        own = authority.account("isthmus", GATEWAY)
        answer = await controller.tell(own, authority.anchors)
        assert answer.issuer == fingerprint(own.issuer)
        assert here.reports["gw-1"].chains_to == prints(above)
        stranger = authority.account("default", "curl")
        with pytest.raises(Unsigned, match=r"\(403\).*is not a proxy of this cluster"):
            await controller.tell(stranger, authority.anchors)
