"""A proxy's certificate: there before it is needed, replaced in time, and never taken away."""

import asyncio
import logging
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from isthmus.apps.credentials import Credentials
from isthmus.apps.proxy import keeper as keepers
from isthmus.apps.proxy.files import CannotWrite, Files
from isthmus.apps.signed import Current, Signed
from isthmus.pki.bundle import Bundle
from isthmus.pki.keys import csr, key_pem, new_key, read_certificates, read_key
from isthmus.pki.verify import verify
from tests.apps.clusters import VirtualClock
from tests.apps.proxy.holding import GATEWAY, held
from tests.apps.trusting import anchor, given, issuer, issuer_secret, put, running, trust_map

ABOVE, OTHER = anchor(), anchor()
EAST = issuer(ABOVE)
HOUR = 3600.0


async def test_envoy_finds_a_certificate_and_anchors_that_nobody_else_can_read(
    tmp_path: Path,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running() as keeper:
        assert keeper.own is not None
        own = here.secret("own").tls_certificate
        chain = read_certificates(own.certificate_chain.inline_bytes, "the chain")
        key = read_key(own.private_key.inline_bytes, "the key")
        assert keeper.anchors is not None
        assert verify(chain, keeper.anchors, VirtualClock().utc()) == GATEWAY
        assert chain[0].public_key() == key.public_key()
        anchors = here.secret("anchors").validation_context.trusted_ca.inline_bytes
        assert anchors == keeper.anchors.pem()
    assert sorted(each.name for each in here.directory.iterdir()) == ["anchors.pb", "own.pb"]
    assert here.directory.stat().st_mode & 0o777 == 0o700
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in here.directory.iterdir())


async def test_it_is_renewed_around_two_thirds_of_its_life_with_another_key(
    tmp_path: Path,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running():
        await asyncio.sleep(4 * 24 * HOUR)
    times = here.signer.attempts
    pauses = [(later - sooner) / HOUR for sooner, later in pairwise(times)]
    assert len(pauses) >= 5
    # The certificate is dated back by five minutes; a look comes every ten seconds.
    assert all(14.3 <= pause <= 17.7 for pause in pauses)
    assert max(pauses) - min(pauses) > 0.5
    assert len(set(here.signer.requests)) == len(times)


async def test_an_authority_that_is_away_for_seven_hours_leaves_no_gap(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = given(ABOVE, EAST)
    async with running(authority):
        here = await held(authority, ABOVE, tmp_path)
        async with here.running() as keeper:
            first = keeper.own
            await asyncio.sleep(14.2 * HOUR)
            here.signer.down = True
            for _ in range(7):
                await asyncio.sleep(HOUR)
                assert keeper.own is first
                assert here.secret("own").tls_certificate.certificate_chain.inline_bytes
            assert any(one.message == "certificate is not renewed" for one in caplog.records)
            here.signer.down = False
            await asyncio.sleep(90)
            assert keeper.own is not None
            assert keeper.own != first
            assert first is not None
            assert first.not_after - VirtualClock().utc() > timedelta(hours=2)


async def test_attempts_are_spread_and_a_certificate_that_ends_is_said_thrice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running() as keeper:
        here.signer.down = True
        await asyncio.sleep(30 * HOUR)
        assert 200 < len(here.signer.attempts) < 2500
        said = [
            (one.levelname, one.__dict__["used"])
            for one in caplog.records
            if one.message.startswith("certificate ") and "used" in one.__dict__
        ]
        assert said == [("WARNING", "80%"), ("ERROR", "95%"), ("ERROR", "100%")]
        # It stays where it is: others refuse it, and nobody is let in without one.
        assert here.secret("own").tls_certificate.private_key.inline_bytes
        here.signer.down = False
        await asyncio.sleep(90)
        assert keeper.own is not None
        assert keeper.own.not_after > VirtualClock().utc()


async def test_a_controller_that_starts_a_moment_later_is_not_kept_waiting_for(
    tmp_path: Path,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    here.signer.down = True
    loop = asyncio.get_running_loop()
    loop.call_later(1.0, setattr, here.signer, "down", False)
    async with here.running():
        assert loop.time() - here.signer.attempts[0] < 5.0, "much sooner than the next look"
        assert len(here.signer.attempts) > 1


async def test_before_the_first_certificate_no_pause_is_longer_than_that_between_looks(
    tmp_path: Path,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    here.signer.down = True
    asyncio.get_running_loop().call_later(HOUR, setattr, here.signer, "down", False)
    async with here.running():
        times = here.signer.attempts
        assert max(later - sooner for sooner, later in pairwise(times)) <= keepers.LOOK + 0.1
        assert len(times) < HOUR / 2, "and attempts are spread all the same"


async def test_a_controller_that_asks_for_patience_gets_it(tmp_path: Path) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running():
        here.signer.down, here.signer.retry_after = True, 200.0
        await asyncio.sleep(20 * HOUR)
        times = here.signer.attempts[1:]
        pauses = [later - sooner for sooner, later in pairwise(times)]
        assert min(pauses) >= 200


async def test_new_anchors_are_taken_in_at_once_and_the_certificate_with_them(
    tmp_path: Path,
) -> None:
    authority = given(ABOVE, EAST)
    here = await held(authority, ABOVE, tmp_path)
    async with here.running() as keeper:
        first = keeper.own
        newer = issuer(OTHER)
        put(authority, trust_map(ABOVE, OTHER), issuer_secret(newer))
        here.mount(ABOVE, OTHER)
        await asyncio.sleep(keepers.LOOK + 1)
        assert keeper.own is not None
        assert keeper.own != first
        assert keeper.own.issuer == newer.certificate
        both = here.secret("anchors").validation_context.trusted_ca.inline_bytes
        put(authority, trust_map(OTHER))
        here.mount(OTHER)
        await asyncio.sleep(keepers.LOOK + 1)
        one = here.secret("anchors").validation_context.trusted_ca.inline_bytes
        assert len(one) < len(both)
        assert list(keeper.anchors.anchors if keeper.anchors else ()) == [OTHER.certificate]


async def test_another_issuer_is_noticed_at_the_next_look(tmp_path: Path) -> None:
    authority = given(ABOVE, EAST)
    here = await held(authority, ABOVE, tmp_path)
    async with here.running() as keeper:
        await asyncio.sleep(HOUR)
        newer = issuer(ABOVE)
        put(authority, issuer_secret(newer))
        await asyncio.sleep(keepers.LOOK + 1)
        assert keeper.own is not None
        assert keeper.own.issuer == newer.certificate
        assert len(here.signer.attempts) == 2
        assert here.signer.told[-1] == (keeper.own, keeper.anchors)


async def test_an_anchor_is_trusted_before_the_file_has_it(tmp_path: Path) -> None:
    authority = given(ABOVE, EAST)
    here = await held(authority, ABOVE, tmp_path)
    async with here.running() as keeper:
        put(authority, trust_map(ABOVE, OTHER))
        await asyncio.sleep(keepers.LOOK + 1)
        assert keeper.anchors is not None
        assert set(keeper.anchors.anchors) == {ABOVE.certificate, OTHER.certificate}
        # A file that lags is no reason to renew all the time.
        put(authority, trust_map(ABOVE))
        await asyncio.sleep(HOUR)
        assert len(here.signer.attempts) == 2


async def test_replicas_that_do_not_agree_are_not_asked_all_the_time(tmp_path: Path) -> None:
    authority = given(ABOVE, EAST)
    here = await held(authority, ABOVE, tmp_path)
    here.signer.authority = given(ABOVE, issuer(ABOVE))
    async with here.running():
        await asyncio.sleep(HOUR)
        assert len(here.signer.attempts) > HOUR / keepers.RECONSIDER * 0.7
        assert len(here.signer.attempts) <= HOUR / keepers.RECONSIDER + 2


@pytest.mark.parametrize("lags", ["the file", "the controller"])
async def test_whoever_lags_takes_no_anchor_away(tmp_path: Path, lags: str) -> None:
    authority = given(ABOVE, EAST)
    here = await held(authority, ABOVE, tmp_path)
    if lags == "the file":
        put(authority, trust_map(ABOVE, OTHER))
    else:
        here.mount(ABOVE, OTHER)
    async with here.running() as keeper:
        assert keeper.anchors is not None
        assert set(keeper.anchors.anchors) == {ABOVE.certificate, OTHER.certificate}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_text("canary-5"), id="garbage"),
        pytest.param(lambda path: path.write_text(""), id="empty"),
        pytest.param(lambda path: path.unlink(), id="gone"),
        pytest.param(lambda path: path.write_bytes(key_pem(EAST.key)), id="a key"),
    ],
)
async def test_anchors_that_cannot_be_used_leave_the_last_in_use_and_are_named_once(
    tmp_path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running() as keeper:
        before = here.secret("anchors")
        assert callable(damage)
        damage(here.trust)
        await asyncio.sleep(20 * HOUR)
        assert here.secret("anchors") == before
        assert len(here.signer.attempts) == 2  # and renewal goes on
        assert keeper.own is not None
    named = [one for one in caplog.records if "trust bundle cannot be used" in one.message]
    assert len(named) == 1
    assert "canary" not in str(named[0].__dict__)


class Wrong:
    """A controller that answers something else."""

    def __init__(self, answer: Signed) -> None:
        self.answer = answer

    async def sign(self, csr: bytes, anchors: Bundle) -> Signed:  # noqa: ARG002
        return self.answer

    async def tell(self, own: Credentials, anchors: Bundle) -> Current:  # noqa: ARG002
        raise AssertionError("nothing of it can be in use")


@pytest.mark.parametrize(
    "account, changed, expected",
    [
        pytest.param("isthmus-gateway", {}, "is for another key", id="another key"),
        pytest.param(
            "isthmus-egress",
            None,
            "the pod's token is of isthmus/isthmus-egress, but this proxy has to run as "
            "isthmus/isthmus-gateway",
            id="another account",
        ),
        pytest.param("isthmus-gateway", {"chain": "canary-6"}, "the chain: line 1", id="no chain"),
        pytest.param(
            "isthmus-gateway", {"anchors": ""}, "the trust bundle is empty", id="no trust"
        ),
    ],
)
async def test_an_answer_that_is_not_ours_is_not_used(
    tmp_path: Path,
    account: str,
    changed: dict[str, str] | None,
    expected: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    here.signer.account = account
    if changed is not None:
        given_ = await here.signer.sign(csr(new_key()), Bundle((ABOVE.certificate,)))
        answer = {name: getattr(given_, name) for name in ("chain", "anchors", "not_after")}
        here.keeper._signer = Wrong(Signed(**(answer | changed)))
    task = asyncio.create_task(here.keeper.run())
    await asyncio.sleep(60)
    task.cancel()
    await asyncio.wait({task})
    assert not here.keeper.ready.is_set()
    assert not (here.directory / "own.pb").exists()
    assert all(expected in one.__dict__["error"] for one in caplog.records)
    assert len(caplog.records) > 1
    assert "canary" not in str([one.__dict__ for one in caplog.records])


async def test_a_directory_that_cannot_be_written_is_named_and_tried_again(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "gone"
    files = Files(directory)
    with pytest.raises(CannotWrite, match="gone: No such file"):
        files.prepare()
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    moved = tmp_path / "moved"
    async with here.running() as keeper:
        first = keeper.own
        here.directory.rename(moved)
        await asyncio.sleep(20 * HOUR)
        assert keeper.own is first
        moved.rename(here.directory)
        await asyncio.sleep(90)
        assert keeper.own is not first
        assert here.secret("own").tls_certificate.private_key.inline_bytes


async def test_a_key_that_could_not_be_put_in_its_place_is_not_left_beside_it(
    tmp_path: Path,
) -> None:
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running() as keeper:
        assert keeper.own is not None
        (here.directory / "own.pb").unlink()
        (here.directory / "own.pb").mkdir()  # nothing can be moved there
        with pytest.raises(CannotWrite, match=r"own\.pb"):
            Files(here.directory).write_own(keeper.own)
        assert not (here.directory / "own.new").exists()
        (here.directory / "own.pb").rmdir()


async def test_no_key_is_ever_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    here = await held(given(ABOVE, EAST), ABOVE, tmp_path)
    async with here.running() as keeper:
        assert keeper.own is not None
        shown = repr(keeper.__dict__) + repr(keeper) + str([one.__dict__ for one in caplog.records])
        for line in keeper.own.key_pem.decode().splitlines()[1:-1]:
            assert line not in shown
