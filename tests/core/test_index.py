"""Keeping count of many exports, one change at a time, agrees with counting anew."""

from hypothesis import given
from hypothesis import strategies as st

from isthmus.core import link as links
from isthmus.core.index import Admitted, Claims
from isthmus.model.exports import Export
from isthmus.model.links import Limits, Link
from isthmus.model.objects import Key
from tests.support.builders import export, link
from tests.support.strategies import LINKS, exports

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
CHANGES = st.lists(st.tuples(NAMES, st.sampled_from(["", "1", "2", "3"])), max_size=30)


@given(changes=CHANGES, limit=st.integers(0, 4))
def test_the_oldest_are_admitted_whatever_the_order_of_arrival(
    changes: list[tuple[str, str]], limit: int
) -> None:
    """An empty time stands for an export that goes."""
    admitted = Admitted(limit)
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
        differ = {
            each
            for each in before.keys() | admitted.exports.keys()
            if before.get(each) != admitted.exports.get(each)
        }
        assert touched == differ


def test_passing_keeps_the_oldest() -> None:
    offered = [
        export(name, created=created) for name, created in (("a", "3"), ("b", "1"), ("c", "2"))
    ]
    small = link(limits=Limits(services=2))
    assert links.passing(offered, small).keys() == {Key("shop", "b"), Key("shop", "c")}


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
        claims.drop(one.uid)
    assert not claims.by_name
