"""What a link's status says."""

import dataclasses

import pytest
from msgspec.structs import replace

from isthmus.core.status import Facts, notes, status
from isthmus.model.links import Link, LinkStatus, RefusedExport
from isthmus.model.objects import Condition
from tests.support.builders import link

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
WELL = Facts(
    connected=True, is_live=True, synced=True, gateway=True, mirrors=3, cluster_uid="uid-of-west"
)
DOWN = Facts(
    connected=False,
    reason="Unreachable",
    message="connection refused",
    synced=True,
    gateway=True,
    mirrors=3,
    cluster_uid="uid-of-west",
)
REFUSED = tuple(
    RefusedExport(namespace="shop", name=f"web-{number}", reason="NameTaken", message="taken")
    for number in range(30)
)


def known(facts: Facts, at: str = EARLIER) -> Link:
    """A link whose status is the one that ``facts`` lead to."""
    return replace(link(), status=status(link(), facts, at))


def conditions(found: LinkStatus) -> dict[str, str]:
    return {one.type: one.status for one in found.conditions}


def condition(found: LinkStatus, kind: str) -> Condition:
    return next(one for one in found.conditions if one.type == kind)


@pytest.mark.parametrize(
    "facts, expected",
    [
        pytest.param(WELL, "True True True True", id="all is well"),
        pytest.param(DOWN, "False False True False", id="target out of reach"),
        pytest.param(Facts(), "Unknown Unknown Unknown Unknown", id="nothing known yet"),
        pytest.param(
            Facts(connected=False, reason="Unauthorized"),
            "False False Unknown False",
            id="never reached",
        ),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True, gateway=False, gateway_message="no"),
            "True True False False",
            id="gateway dead",
        ),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True),
            "True True Unknown True",
            id="a gateway that nobody probes is no trouble",
        ),
        pytest.param(
            Facts(connected=False, reason="IdentityChanged", is_live=True, synced=True),
            "False True Unknown False",
            id="new credential of no use, old one still good",
        ),
    ],
)
def test_conditions(facts: Facts, expected: str) -> None:
    found = conditions(status(link(), facts, NOW))
    wanted = dict(
        zip(("Connected", "Synced", "GatewayAlive", "Ready"), expected.split(), strict=True)
    )
    assert found == wanted


def test_nothing_changes_as_long_as_nothing_is_known() -> None:
    for facts in (WELL, DOWN):
        before = known(facts)
        starting = Facts(mirrors=3, cluster_uid="uid-of-west")
        assert status(before, starting, NOW) == before.status


def test_the_time_of_a_condition_is_that_of_its_last_turn() -> None:
    after = status(known(WELL), DOWN, NOW)
    assert condition(after, "Connected").last_transition_time == NOW
    assert condition(after, "GatewayAlive").last_transition_time == EARLIER
    assert status(known(WELL), WELL, NOW) == known(WELL).status


def test_the_same_trouble_in_other_words_is_not_written_again() -> None:
    other = Facts(
        connected=False,
        reason="Unreachable",
        message="timed out",
        synced=True,
        gateway=True,
        mirrors=3,
        cluster_uid="uid-of-west",
    )
    assert status(known(DOWN), other, NOW) == known(DOWN).status


def test_another_mistake_of_the_same_kind_is_named_as_it_is_now() -> None:
    first = Facts(connected=False, reason="BadCredentials", message="users[u].user.exec")
    second = Facts(connected=False, reason="BadCredentials", message="users[u].user.tokenFile")
    found = status(known(first), second, NOW)
    assert condition(found, "Connected").message == "users[u].user.tokenFile"


def test_stale_since_is_kept_until_the_target_is_back() -> None:
    assert known(WELL).status.stale_since is None
    assert known(DOWN).status.stale_since == EARLIER
    assert status(known(DOWN), DOWN, NOW).stale_since == EARLIER
    assert status(known(DOWN), WELL, NOW).stale_since is None


def test_twenty_refusals_are_named_and_all_are_counted() -> None:
    facts = Facts(connected=True, is_live=True, synced=True, refused=REFUSED)
    found = status(link(), facts, NOW)
    assert found.refused == REFUSED[:20]
    assert found.refused_count == 30


@pytest.mark.parametrize(
    "facts, alarm, message",
    [
        pytest.param(
            Facts(connected=True, is_live=True, synced=True, held=("shop/a", "shop/b")),
            "DeletionHeld",
            "2 mirrors (shop/a, shop/b) would be deleted; asking the target again",
            id="deletion",
        ),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True, dark=("a/a", "b/b", "c/c", "d/d")),
            "EndpointsHeld",
            "4 exports (a/a, b/b, c/c, …) would lose all endpoints; asking the target again",
            id="loss of endpoints",
        ),
        pytest.param(
            dataclasses.replace(WELL, refused_addresses=("10.96.0.1: ours", "127.0.0.1: loopback")),
            "AddressRefused",
            "no gateway can be at 10.96.0.1: ours; 127.0.0.1: loopback",
            id="an address where no gateway can be",
        ),
    ],
)
def test_what_is_grave_is_a_condition_and_keeps_the_link_from_being_ready(
    facts: Facts, alarm: str, message: str
) -> None:
    found = status(link(), facts, NOW)
    assert conditions(found)[alarm] == "True"
    assert condition(found, alarm).message == message
    assert (condition(found, "Ready").status, condition(found, "Ready").reason) == ("False", alarm)
    assert alarm not in conditions(status(known(facts), WELL, NOW))


def test_what_is_beyond_the_limit_is_counted() -> None:
    facts = dataclasses.replace(WELL, over_limit=2, pods_over_limit=7)
    found = status(link(), facts, NOW)
    message = "2 exports and 7 named pods beyond limits.services are not mirrored"
    assert condition(found, "LimitExceeded").message == message
    assert conditions(found)["Ready"] == "True"


@pytest.mark.parametrize(
    "before, after, reasons",
    [
        pytest.param(WELL, WELL, [], id="nothing has happened"),
        pytest.param(WELL, DOWN, ["Unreachable", "Stale"], id="lost"),
        pytest.param(DOWN, WELL, ["Connected", "Synced"], id="back"),
        pytest.param(Facts(), Facts(), [], id="not known yet"),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True, refused=REFUSED[:1]),
            Facts(connected=True, is_live=True, synced=True, refused=REFUSED[:2]),
            ["NameTaken"],
            id="one more refusal",
        ),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True),
            Facts(connected=True, is_live=True, synced=True, held=("a",)),
            ["MassDeletion"],
            id="held",
        ),
        pytest.param(
            Facts(connected=True, is_live=True, synced=True, held=("a",)),
            Facts(connected=True, is_live=True, synced=True),
            ["DeletionHeldOver"],
            id="let go",
        ),
    ],
)
def test_notes(before: Facts, after: Facts, reasons: list[str]) -> None:
    was = known(before)
    assert [one.reason for one in notes(was.status, status(was, after, NOW))] == reasons


@pytest.mark.parametrize(
    "complaints, message",
    [
        (("web: no",), "egress proxies refuse what they are told: web: no"),
        (("web: no", "db: no"), "egress proxies refuse what they are told: web: no (and 1 more)"),
    ],
)
def test_what_proxies_refuse_keeps_a_link_from_being_ready(
    complaints: tuple[str, ...], message: str
) -> None:
    found = status(link(), dataclasses.replace(WELL, complaints=complaints), NOW)
    assert condition(found, "ProxyRefused").message == message
    assert conditions(found)["Ready"] == "False"
