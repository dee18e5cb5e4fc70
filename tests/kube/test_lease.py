"""Who may lead, decided as client-go decides it."""

from datetime import UTC, datetime, timedelta

import pytest

from isthmus.kube.lease import (
    Acquire,
    Candidate,
    Moment,
    Observed,
    Renew,
    Wait,
    decide,
    observe,
    released,
)
from isthmus.model.objects import Key, Lease, LeaseSpec, Metadata

KEY = Key("isthmus", "controller")
ME = Candidate(key=KEY, identity="me")
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
THEN = "2029-12-31T23:00:00.000000Z"


def at(now: float) -> Moment:
    return Moment(now, EPOCH + timedelta(seconds=now))


def held(by: str | None, *, version: str = "7", transitions: int = 3, duration: int = 15) -> Lease:
    return Lease(
        metadata=Metadata(
            namespace="isthmus", name="controller", uid="u", resource_version=version
        ),
        spec=LeaseSpec(
            holder_identity=by,
            lease_duration_seconds=duration,
            acquire_time=THEN,
            renew_time=THEN,
            lease_transitions=transitions,
        ),
    )


def mine(acquired: str, renewed: str, transitions: int) -> LeaseSpec:
    return LeaseSpec(
        holder_identity="me",
        lease_duration_seconds=15,
        acquire_time=acquired,
        renew_time=renewed,
        lease_transitions=transitions,
    )


NOW = "2030-01-01T00:01:40.000000Z"
FRESH = Acquire(
    Lease(metadata=Metadata(namespace="isthmus", name="controller"), spec=mine(NOW, NOW, 0))
)
TAKEN = Acquire(Lease(metadata=held("x").metadata, spec=mine(NOW, NOW, 4)))
RENEWED = Renew(Lease(metadata=held("me").metadata, spec=mine(THEN, NOW, 3)))


@pytest.mark.parametrize(
    "lease, seen, expected",
    [
        pytest.param(None, 100.0, FRESH, id="there is none: create it"),
        pytest.param(held("me"), 100.0, RENEWED, id="ours: renew it"),
        pytest.param(held("me"), 1.0, RENEWED, id="ours, and nobody took it: renew it"),
        pytest.param(held(""), 100.0, TAKEN, id="released: take it at once"),
        pytest.param(held(None), 100.0, TAKEN, id="without a holder: take it at once"),
        pytest.param(held("you"), 100.0, Wait("you", 15.0), id="seen now: wait all of it"),
        pytest.param(held("you"), 90.0, Wait("you", 5.0), id="seen before: wait the rest"),
        pytest.param(held("you"), 85.0, TAKEN, id="not renewed for its duration: take it"),
        pytest.param(held("you", duration=60), 85.0, Wait("you", 45.0), id="its own duration"),
        pytest.param(
            held("you", duration=0), 90.0, Wait("you", 5.0), id="without a duration: ours"
        ),
    ],
)
def test_decide(lease: Lease | None, seen: float, expected: Acquire | Renew | Wait) -> None:
    assert decide(Observed(lease, seen), ME, at(100)) == expected


@pytest.mark.parametrize(
    "known, read, since",
    [
        pytest.param(None, held("you"), 9.0, id="first sight"),
        pytest.param(held("you"), held("you"), 2.0, id="the same version counts from first sight"),
        pytest.param(held("you"), held("you", version="8"), 9.0, id="renewed: count anew"),
        pytest.param(held("you", version="8"), held("you"), 9.0, id="a stale read: count anew"),
        pytest.param(held("you"), None, 9.0, id="deleted"),
    ],
)
def test_the_age_of_a_lease_counts_from_the_first_sight_of_its_version(
    known: Lease | None, read: Lease | None, since: float
) -> None:
    before = None if known is None else Observed(known, 2.0)
    assert observe(before, read, 9.0) == Observed(read, since)


def test_others_wall_clocks_mean_nothing() -> None:
    """A renewal dated in the far past or future is as good as any other."""
    lease = held("you")
    assert decide(Observed(lease, 99.0), ME, at(100)) == Wait("you", 14.0)


def test_a_released_lease_is_free_keeps_its_count_and_stays_valid() -> None:
    spec = released(held("me"), EPOCH).spec
    assert (spec.holder_identity, spec.lease_transitions) == ("", 3)
    assert spec.lease_duration_seconds == 1
    assert decide(Observed(released(held("me"), EPOCH), 100.0), ME, at(100)) == TAKEN
