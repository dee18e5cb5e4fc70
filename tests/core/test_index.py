"""Keeping count of many exports, one change at a time, agrees with counting anew."""

from collections.abc import Iterable, Mapping

from hypothesis import example, given
from hypothesis import strategies as st

from isthmus.core import link as links
from isthmus.core.index import Admitted, Claims
from isthmus.model.exports import Export
from isthmus.model.links import Limits, Link
from isthmus.model.objects import Key
from tests.support.builders import export, headless, link
from tests.support.strategies import LINKS, exports

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
CHANGES = st.lists(st.tuples(NAMES, st.sampled_from(["", "1", "2", "3"])), max_size=30)


def differing(before: Mapping[Key, Export], after: Mapping[Key, Export]) -> set[Key]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@example(changes=[("b", "2"), ("a", "1"), ("b", "3"), ("c", "2"), ("a", "")], limit=1)
@given(changes=CHANGES, limit=st.integers(0, 4))
def test_the_oldest_are_admitted_whatever_the_order_of_arrival(
    changes: list[tuple[str, str]], limit: int
) -> None:
    """An empty time stands for an export that goes."""
    admitted = Admitted(limit, sets=True)
    there: dict[Key, Export] = {}
    for name, created in changes:
        before = dict(admitted.exports)
        key = Key("shop", name)
        one = export(name, created=created) if created else None
        there.pop(key, None)
        if one is not None:
            there[key] = one
        touched = admitted.put(key, one)
        oldest = sorted(there, key=lambda each: (there[each].created, each))
        assert admitted.exports == {each: there[each] for each in oldest[:limit]}
        assert admitted.excess == oldest[limit:]
        assert touched == differing(before, admitted.exports)


def fair(sizes: Iterable[int], room: int) -> int:
    """The level, found by trying all of them."""
    known = list(sizes)
    fitting = (one for one in range(room + 1) if sum(min(size, one) for size in known) <= room)
    return max(fitting)


SETS = st.lists(st.tuples(NAMES, st.integers(0, 12), st.sampled_from("123")), max_size=30)


@example(
    # All fit; two are cut; one goes, and the other gets what it wants a part of, then all of it.
    changes=[("a", 4, "1"), ("b", 9, "1"), ("c", 4, "1"), ("a", 0, "1"), ("c", 1, "1")],
    limit=10,
    sets=True,
)
@given(changes=SETS, limit=st.integers(0, 10), sets=st.booleans())
def test_sets_share_the_room_for_pods_whatever_the_order_of_arrival(
    changes: list[tuple[str, int, str]], limit: int, sets: bool
) -> None:
    """No pods stand for a set that goes."""
    admitted = Admitted(limit, sets=sets)
    there: dict[Key, Export] = {}
    for name, size, created in changes:
        before = dict(admitted.exports)
        pods = [f"{name}-{number}" for number in range(size)]
        one = headless(name, *pods, created=created)
        there.pop(one.key, None)
        if size:
            there[one.key] = one
        touched = admitted.put(one.key, one if size else None)
        assert touched == differing(before, admitted.exports)
        assert admitted.exports.keys() <= there.keys()
        whole = {key: len(there[key].pods) for key in admitted.exports}
        level = fair(whole.values(), limit) if sets else 12
        for key, found in admitted.exports.items():
            kept = {f"{key.name}-{number}" for number in range(min(whole[key], level))}
            assert {pod.hostname for pod in found.pods} == kept
            assert list(found.pods) == sorted(found.pods, key=lambda pod: pod.hostname)
        over = {key: size - level for key, size in whole.items() if size > level}
        assert admitted.left_out == over


def test_a_set_that_grows_takes_nothing_from_smaller_ones() -> None:
    admitted = Admitted(10, sets=True)
    admitted.put(Key("shop", "db"), headless("db", "db-0", "db-1", "db-2", created="2"))
    many = [f"big-{number}" for number in range(100_000)]
    admitted.put(Key("shop", "big"), headless("big", *many, created="1"))
    assert len(admitted.exports[Key("shop", "db")].pods) == 3
    assert [one.hostname for one in admitted.exports[Key("shop", "big")].pods] == many[:7]
    assert admitted.left_out == {Key("shop", "big"): 99_993}


def test_passing_keeps_the_oldest() -> None:
    offered = [
        export(name, created=created) for name, created in (("a", "3"), ("b", "1"), ("c", "2"))
    ]
    small = link(limits=Limits(services=2))
    assert links.passing(offered, small).keys() == {Key("shop", "b"), Key("shop", "c")}


@example(
    # Both links want names of one namespace, one of them the same name; what it was goes again.
    history=[
        (LINKS[0], headless("web-east", "a", "b"), True),
        (LINKS[1], export("web"), True),
        (LINKS[0], headless("web-east", "b", "c"), True),
        (LINKS[1], export("web"), False),
        (LINKS[0], export("db", "bank"), True),
    ]
)
@given(history=st.lists(st.tuples(st.sampled_from(LINKS), exports(), st.booleans()), max_size=20))
def test_claims_are_those_of_the_exports_that_are_there(
    history: list[tuple[Link, Export, bool]],
) -> None:
    claims = Claims()
    there: dict[tuple[str, Key], Export] = {}
    by_uid = {one.uid: one for one in LINKS}
    for to, offered, stays in history:
        uid = to.uid
        there.pop((uid, offered.key), None)
        if stays:
            there[uid, offered.key] = offered
        wanted = links.claims(offered, by_uid[uid]) if stays else ()
        claims.put(uid, offered.key, wanted)
    anew: dict[Key, set[object]] = {}
    for (uid, _), offered in there.items():
        for name, claim in links.claims(offered, by_uid[uid]):
            anew.setdefault(name, set()).add(claim)
    assert {name: set(found) for name, found in claims.by_name.items()} == anew
    for name in anew:
        assert name in claims.in_namespace(name.namespace)
    for one in LINKS:
        own = {key: offered for (uid, key), offered in there.items() if uid == one.uid}
        names = {name for offered in own.values() for name, _ in links.claims(offered, one)}
        assert set(claims.of_link(one.uid)) == names
        assert claims.exports_of(one.uid) <= own.keys()
        assert {name for name in anew if claims.has(one.uid, name)} == names
    for one in LINKS:
        claims.drop(one.uid)
    assert not claims.by_name
