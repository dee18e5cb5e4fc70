"""The authority follows what it is given, keeps what is good, and renews what it holds."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from isthmus.apps.controller.certifying.authority import NoAuthority
from isthmus.model.names import ISSUER, TRUST
from isthmus.model.objects import ConfigMap, Secret
from isthmus.pki.keys import chain_pem, key_pem, new_key
from isthmus.pki.shape import CannotIssue
from isthmus.pki.verify import verify
from tests.apps.clusters import START, VirtualClock
from tests.apps.trusting import (
    DAY,
    anchor,
    config_map,
    fresh,
    given,
    gone,
    issuer,
    issuer_secret,
    put,
    running,
    secret,
    trust_map,
)

HOUR = timedelta(hours=1)
CURL = ("default", "curl")


async def test_without_an_issuer_nothing_is_signed_and_the_way_out_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    authority = fresh()
    async with running(authority):
        await asyncio.sleep(3600)
    assert not authority.ready.is_set()
    assert authority.problems == (
        "Secret isthmus/isthmus-issuer does not exist; make it with "
        "`isthmus trust issue --cluster east`",
    )
    with pytest.raises(NoAuthority, match="does not exist"):
        authority.leaf(authority.identity, new_key().public_key())
    assert [one.levelname for one in caplog.records] == ["INFO"]


async def test_what_is_signed_is_what_everybody_accepts() -> None:
    above = anchor()
    authority = given(above, issuer(above))
    assert authority.ready.is_set()
    assert list(authority.problems) == []
    who = authority.identity._replace(namespace="default", account="curl")
    chain = authority.leaf(who, new_key().public_key())
    assert verify(chain, authority.anchors, START) == who
    own = authority.own
    assert verify((own.leaf, own.issuer), authority.anchors, START) == authority.identity
    assert str(authority.identity) == "spiffe://east.isthmus/ns/isthmus/sa/isthmus-controller"


ABOVE, OTHER = anchor(START - DAY), anchor(START - DAY)
EAST = issuer(ABOVE)


@pytest.mark.parametrize(
    "bad, problem",
    [
        pytest.param(
            issuer_secret(issuer(ABOVE, "west")),
            "the issuer may vouch for west.isthmus, not for east.isthmus",
            id="of another cluster",
        ),
        pytest.param(
            issuer_secret(issuer(OTHER)),
            "the issuer is not signed by an anchor that is trusted here",
            id="of another anchor",
        ),
        pytest.param(
            issuer_secret(issuer(ABOVE, now=START - 2 * HOUR, lifetime=HOUR)),
            "the issuer of east.isthmus expired at 2026-01-02T02:04:05Z, the clock here says "
            "2026-01-02T03:04:05Z; make another with `isthmus trust issue --cluster east`",
            id="expired",
        ),
        pytest.param(
            issuer_secret(ABOVE),
            "the issuer is not signed by an anchor that is trusted here",
            id="the anchor itself",
        ),
        pytest.param(
            secret(chain_pem(EAST.certificate), key_pem(new_key())),
            "Secret isthmus/isthmus-issuer: the key of the issuer does not belong to its "
            "certificate",
            id="another key",
        ),
        pytest.param(
            secret(b"canary-77", key_pem(EAST.key)),
            "Secret isthmus/isthmus-issuer: the certificate of the issuer: line 1 is neither PEM "
            "nor a comment",
            id="no certificate",
        ),
        pytest.param(
            secret(key_pem(EAST.key), key_pem(EAST.key)),
            "Secret isthmus/isthmus-issuer: the certificate of the issuer: line 1 begins a private "
            "key, which does not belong here; remove it, and replace the key if others could read "
            "it",
            id="a key as certificate",
        ),
        pytest.param(
            Secret(metadata=issuer_secret(EAST).metadata, data={"tls.crt": b"x"}),
            "Secret isthmus/isthmus-issuer: it has no key 'tls.key'",
            id="half of it",
        ),
        pytest.param(
            trust_map(OTHER),
            "the issuer is not signed by an anchor that is trusted here",
            id="anchors that do not vouch for the issuer",
        ),
        pytest.param(
            config_map(" \n"),
            "ConfigMap isthmus/isthmus-trust: the trust bundle is empty",
            id="no anchors",
        ),
        pytest.param(
            ConfigMap(metadata=trust_map(ABOVE).metadata),
            "ConfigMap isthmus/isthmus-trust: it has no key 'anchors.pem'",
            id="anchors elsewhere",
        ),
    ],
)
async def test_what_cannot_be_used_is_named_and_the_last_good_stays(
    bad: Secret | ConfigMap, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    authority = given(ABOVE, EAST)
    before, own = authority.trust, authority.own
    put(authority, bad)
    assert list(authority.problems) == [problem]
    assert (authority.trust, authority.own) == (before, own)
    assert [record.__dict__["error"] for record in caplog.records] == [problem]
    put(authority, issuer_secret(EAST), trust_map(ABOVE))
    assert list(authority.problems) == []


@pytest.mark.parametrize(
    "name, problem",
    [
        (ISSUER, "Secret isthmus/isthmus-issuer does not"),
        (TRUST, "ConfigMap isthmus/isthmus-trust"),
    ],
)
async def test_what_is_deleted_stays_in_use_until_the_controller_ends(
    name: str, problem: str
) -> None:
    authority = given(ABOVE, EAST)
    (authority.fold_secrets if name == ISSUER else authority.fold_config_maps)(gone(name))
    assert authority.problems[0].startswith(problem)
    assert authority.trust.issuer == EAST


async def test_a_new_issuer_signs_from_then_on_and_everybody_is_told() -> None:
    authority = given(ABOVE, EAST)
    told: list[str] = []
    authority.tell(lambda: told.append(f"{authority.own.issuer.serial_number}"))
    curl = authority.account(*CURL)
    assert authority.account(*CURL) is curl
    newer = issuer(ABOVE)
    put(authority, issuer_secret(newer))
    assert told == [f"{newer.certificate.serial_number}"]
    assert authority.account(*CURL).issuer == newer.certificate


async def test_anchor_and_issuer_may_change_in_any_order() -> None:
    authority = given(ABOVE, EAST)
    newer = issuer(OTHER)
    put(authority, issuer_secret(newer))  # too early: nobody trusts its anchor
    assert authority.trust.issuer == EAST
    put(authority, trust_map(ABOVE, OTHER))
    assert authority.trust.issuer == newer
    assert len(authority.anchors.anchors) == 2
    assert list(authority.problems) == []
    put(authority, trust_map(OTHER))
    assert list(authority.anchors.anchors) == [OTHER.certificate]


async def test_new_anchors_count_even_if_the_issuer_beside_them_is_bad() -> None:
    authority = given(ABOVE, EAST)
    put(authority, secret(b"", b""))
    put(authority, trust_map(ABOVE, OTHER))
    assert len(authority.anchors.anchors) == 2
    assert authority.trust.issuer == EAST
    assert len(authority.problems) == 1


async def test_our_own_leaf_is_renewed_around_two_thirds_of_its_life() -> None:
    renewed = asyncio.Event()
    async with running(given(ABOVE, EAST)) as authority:
        authority.tell(renewed.set)
        for _ in range(20):
            first = authority.own
            begin = VirtualClock().utc()
            await renewed.wait()
            renewed.clear()
            assert authority.own != first
            after = (VirtualClock().utc() - begin) / (first.not_after - begin)
            assert 0.6 <= after <= 0.74


async def test_an_account_that_nobody_asks_for_any_more_is_forgotten() -> None:
    async with running(given(ABOVE, EAST)) as authority:
        curl = authority.account(*CURL)
        other = authority.account("default", "other")
        authority.tell(lambda: authority.account(*CURL))
        await asyncio.sleep(23 * 3600)
        assert authority.account(*CURL) not in (curl, other)
        assert [who.account for who in authority._accounts] == ["curl"]


async def test_an_account_never_has_a_gap_while_its_user_asks_when_told() -> None:
    async with running(given(ABOVE, EAST)) as authority:
        shown = authority.account(*CURL)

        def ask() -> None:
            nonlocal shown
            shown = authority.account(*CURL)

        authority.tell(ask)
        for _ in range(10 * 24):
            await asyncio.sleep(3600)
            assert shown.not_after - VirtualClock().utc() > 6 * HOUR


async def test_an_issuer_that_ends_is_a_problem_that_is_said_and_seen_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    short = issuer(ABOVE, lifetime=2 * DAY)
    async with running(given(ABOVE, short)) as authority:
        await asyncio.sleep(47 * 3600)
        assert list(authority.problems) == []
        assert authority.expiries["own"] == authority.expiries["issuer"]
        await asyncio.sleep(5 * 3600)
        assert "the issuer of east.isthmus expired at" in authority.problems[0]
        with pytest.raises(CannotIssue):
            authority.leaf(authority.identity, new_key().public_key())
        warned = [one for one in caplog.records if one.levelno == logging.WARNING]
        assert len(warned) == 1
        put(authority, issuer_secret(issuer(ABOVE, now=VirtualClock().utc())))
        assert list(authority.problems) == []
        assert authority.own.not_after > VirtualClock().utc()


async def test_an_issuer_that_is_not_yet_valid_is_used_as_soon_as_it_is() -> None:
    later = issuer(ABOVE, now=START + HOUR)
    async with running(fresh()) as authority:
        put(authority, trust_map(ABOVE), issuer_secret(later))
        assert not authority.ready.is_set()
        assert "holds from 2026-01-02T03:59:05Z, the clock here says" in authority.problems[0]
        await asyncio.sleep(3600)
        assert authority.ready.is_set()


class Jumping(VirtualClock):
    """A wall clock that somebody sets."""

    off = timedelta()

    def utc(self) -> datetime:
        return super().utc() + self.off


@pytest.mark.parametrize("jump", [timedelta(days=3650), timedelta(days=-1)])
async def test_a_wall_clock_that_jumps_far_takes_nothing_away(jump: timedelta) -> None:
    clock = Jumping()
    async with running(given(ABOVE, EAST, clock)) as authority:
        own = authority.own
        clock.off = jump
        await asyncio.sleep(3600)
        assert authority.own == own
        clock.off = timedelta()
        await asyncio.sleep(3600)
        assert authority.own == own
        assert list(authority.problems) == []


async def test_a_wall_clock_that_goes_back_does_not_put_off_what_is_due() -> None:
    clock = Jumping()
    async with running(given(ABOVE, EAST, clock)) as authority:
        own = authority.own
        await asyncio.sleep(3600)
        clock.off = -12 * HOUR
        await asyncio.sleep(17 * 3600)
        assert authority.own != own


async def test_a_machine_that_has_slept_renews_what_was_due_meanwhile() -> None:
    clock = Jumping()
    async with running(given(ABOVE, EAST, clock)) as authority:
        own = authority.own
        clock.off = 18 * HOUR
        await asyncio.sleep(61)
        assert authority.own != own


@pytest.mark.parametrize("show", [str, repr])
async def test_no_key_is_ever_shown(show: Callable[[object], str]) -> None:
    authority = given(ABOVE, EAST)
    curl = authority.account(*CURL)
    shown = "".join(map(show, (authority, authority.trust, authority.own, curl, authority._own)))
    for key in (EAST.key, curl.key, authority.own.key):
        for line in key_pem(key).decode().splitlines()[1:-1]:
            assert line not in shown
