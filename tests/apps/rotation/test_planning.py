"""What a rotation has to be, or why there must not be one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from isthmus.apps.rotation import kept as keeping
from isthmus.apps.rotation import planning
from isthmus.apps.rotation.kept import Copy, Damaged, Kept, newest
from isthmus.apps.rotation.looking import Look, Unfit
from isthmus.apps.rotation.planning import CannotRotate, Looks
from isthmus.model.objects import ConfigMap, Metadata
from isthmus.pki import bundle, reports
from isthmus.pki.anchor import create_anchor
from isthmus.pki.keys import Pair, fingerprint
from isthmus.pki.reports import News
from isthmus.pki.seen import Report
from tests.apps.clusters import START
from tests.apps.trusting import anchor, issuer

OLD, NEW, THIRD = anchor(), anchor(), anchor()
ELSEWHERE = create_anchor("another.mesh", START)


def look(cluster: str, *trusted: Pair, below: Pair = OLD, copy: Copy | None = None) -> Look:
    return Look(
        at=START,
        bundle=bundle.of(one.certificate for one in trusted or (OLD,)),
        bundle_version="1",
        issuer=issuer(below, cluster).certificate,
        issuer_version="1",
        roles={"c": "controller", "p": "egress"},
        news=News({}, {}),
        ahead=timedelta(),
        neighbours=frozenset(),
        copy=copy,
    )


def looks(*found: Look) -> Looks:
    return {one.cluster: one for one in found}


EAST, WEST = look("east"), look("west")


def begun() -> Kept:
    found = planning.forward(looks(EAST, WEST), None, NEW.certificate)
    assert found is not None
    return found


def test_a_rotation_is_from_the_anchor_that_is_there_to_the_new_one() -> None:
    found = begun()
    assert found.rotation.clusters == ("east", "west")
    assert found.rotation.old.fingerprint == fingerprint(OLD.certificate)
    assert found.rotation.goal.fingerprint == fingerprint(NEW.certificate)
    assert found.anchors == bundle.of((OLD.certificate, NEW.certificate))
    assert found.number == 1


@pytest.mark.parametrize(
    "found, expected",
    [
        pytest.param([look("east", NEW, below=NEW)], None, id="nothing is left to do"),
        pytest.param([look("east", OLD, NEW, below=NEW)], OLD, id="only to drop the old one"),
        pytest.param([look("east", OLD, NEW), look("west", OLD, NEW, below=NEW)], OLD, id="half"),
        pytest.param([look("east", OLD, THIRD)], OLD, id="others may be trusted besides"),
    ],
)
def test_what_was_begun_without_a_trace_is_taken_up(
    found: list[Look], expected: Pair | None
) -> None:
    made = planning.forward(looks(*found), None, NEW.certificate)
    old = made and made.rotation.old.fingerprint
    assert old == (expected and fingerprint(expected.certificate))


@pytest.mark.parametrize(
    "decide, text",
    [
        pytest.param(
            lambda: planning.forward(
                looks(look("east", OLD, THIRD), look("west", OLD, THIRD, below=THIRD)),
                None,
                NEW.certificate,
            ),
            "more than one anchor would have to go",
            id="two old ones",
        ),
        pytest.param(
            lambda: planning.forward(looks(EAST), None, ELSEWHERE.certificate),
            "the new anchor does not vouch for east.isthmus",
            id="of another mesh",
        ),
        pytest.param(
            lambda: planning.forward(looks(EAST, WEST), begun(), THIRD.certificate),
            "has not ended: go on with it, or roll it back",
            id="another one goes on",
        ),
        pytest.param(
            lambda: planning.back(looks(EAST, WEST), begun(), THIRD.certificate),
            "and this is another one",
            id="back to what it was not",
        ),
        pytest.param(
            lambda: planning.back(looks(EAST, WEST), None, OLD.certificate),
            "there is no rotation to roll back",
            id="nothing to roll back",
        ),
        pytest.param(
            lambda: planning.named({"a": EAST, "b": EAST}),
            "b: this is the cluster east once more",
            id="one cluster twice",
        ),
        pytest.param(
            lambda: planning.forward(
                looks(replace(EAST, copy=Copy(begun(), "", ""))), begun(), NEW.certificate
            ),
            "east is joined with west, which is not named",
            id="one was left out that it began with",
        ),
    ],
)
def test_what_must_not_be(decide: Callable[[], object], text: str) -> None:
    with pytest.raises(CannotRotate, match=text):
        decide()


def test_a_cluster_that_has_joined_takes_part_from_now_on() -> None:
    found = planning.forward(looks(EAST, WEST, look("north")), begun(), NEW.certificate)
    assert found is not None
    assert set(found.rotation.clusters) == {"east", "west", "north"}
    assert found.number == 2


def test_the_last_word_counts_where_clusters_keep_different_ones() -> None:
    first = begun()
    paused = planning.paused(first)
    copies = [Copy(first, "", ""), None, Copy(paused, "", "")]
    assert newest(copies) == paused
    going_on = planning.forward(looks(EAST, WEST), paused, NEW.certificate)
    assert going_on is not None
    assert (going_on.rotation, going_on.number) == (first.rotation, 3)
    assert planning.forward(looks(EAST, WEST), first, NEW.certificate) is first


def test_an_issuer_below_nobody_is_named() -> None:
    with pytest.raises(Unfit, match="east: the issuer in Secret isthmus-issuer is below none"):
        look("east", OLD, below=THIRD).issues_from(bundle.of((NEW.certificate,)))


@pytest.mark.parametrize("data", [{}, {"rotation.json": "{}", "anchors.pem": "x", "number": "1"}])
def test_what_is_kept_and_cannot_be_read_is_named(data: dict[str, str]) -> None:
    found = ConfigMap(metadata=Metadata(name="n", namespace="isthmus"), data=data)
    with pytest.raises(Damaged, match="ConfigMap isthmus/n: this is not what is kept"):
        keeping.read(found)


@pytest.mark.parametrize(
    "ahead, at",
    [
        pytest.param(40, -100, id="ahead"),
        pytest.param(-40, -20, id="behind"),
        pytest.param(-90, 0, id="in the future"),
    ],
)
def test_reports_are_read_by_our_own_clock(ahead: int, at: int) -> None:
    second = timedelta(seconds=1)
    said = reports.written({"c": Report(START - 60 * second, frozenset(), frozenset())})
    found = replace(EAST, news=reports.news({"c_1": said}), ahead=ahead * second)
    report = found.report("c")
    assert report is not None
    assert report.at == START + at * second
