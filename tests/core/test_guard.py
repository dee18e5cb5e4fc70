"""One wrong list takes down little; two that agree are believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.core.guard import Guard, judge
from isthmus.model.objects import Key


def keys(*numbers: int) -> frozenset[Key]:
    return frozenset(Key("shop", f"web-{one}") for one in numbers)


MANY = keys(*range(30))


@pytest.mark.parametrize(
    "mirrors, orphans, held",
    [
        pytest.param(100, 0, False, id="nothing to delete"),
        pytest.param(1, 1, True, id="the only one: an empty list looks like this"),
        pytest.param(5, 4, False, id="four of five"),
        pytest.param(5, 5, True, id="five of five"),
        pytest.param(6, 6, True, id="six of six"),
        pytest.param(25, 5, False, id="20 %, and five"),
        pytest.param(25, 6, True, id="six of 25"),
        pytest.param(100, 20, False, id="exactly 20 %"),
        pytest.param(100, 21, True, id="more than 20 %"),
        pytest.param(100, 30, True, id="a list that lacks 30 %"),
        pytest.param(100, 100, True, id="an empty list"),
        pytest.param(10_000, 2_000, False, id="20 % of many"),
        pytest.param(10_000, 2_001, True, id="more than 20 % of many"),
    ],
)
def test_a_mass_deletion_is_held(mirrors: int, orphans: int, held: bool) -> None:
    assert judge(Guard(), mirrors, keys(*range(orphans)), 1).holds is held


@pytest.mark.parametrize(
    "orphans, listing, held",
    [
        pytest.param(MANY, 1, True, id="the same list, looked at again"),
        pytest.param(MANY, 2, False, id="a second list agrees"),
        pytest.param(MANY - keys(0), 2, False, id="a second list has one of them back"),
        pytest.param(MANY | keys(99), 2, False, id="a second list lacks one more: few enough"),
        pytest.param(
            MANY | keys(*range(50, 90)), 2, True, id="a second list lacks many more: ask again"
        ),
        pytest.param(keys(*range(50, 90)), 2, True, id="a second list lacks quite others"),
        pytest.param(
            keys(0, 1), 1, True, id="most came back: nobody has said it again of the rest"
        ),
        pytest.param(keys(0, 1), 2, False, id="most came back, and a second list lacks the rest"),
        pytest.param(frozenset(), 2, False, id="all came back"),
    ],
)
def test_what_was_held_goes_when_a_second_list_says_the_same(
    orphans: frozenset[Key], listing: int, held: bool
) -> None:
    guard = judge(Guard(), 100, MANY, 1)
    assert judge(guard, 100, orphans, listing).holds is held


def test_a_third_list_confirms_what_only_the_second_had_said() -> None:
    guard = judge(Guard(), 200, MANY, 1)
    more = MANY | keys(*range(50, 120))
    guard = judge(guard, 200, more, 2)
    assert guard.holds
    assert not judge(guard, 200, more, 3).holds


def test_a_confirmed_deletion_can_take_its_time() -> None:
    guard = judge(judge(Guard(), 100, MANY, 1), 100, MANY, 2)
    left = set(MANY)
    while left:
        left.pop()
        guard = judge(guard, 70 + len(left), frozenset(left), 2)
        assert not guard.holds


def test_what_came_back_needs_new_proof_to_go() -> None:
    guard = judge(judge(Guard(), 100, MANY, 1), 100, MANY, 2)
    guard = judge(guard, 100, frozenset(), 3)
    assert judge(guard, 100, MANY, 4).holds


def test_deletions_that_go_on_cannot_put_off_the_confirmation_for_ever() -> None:
    guard = judge(Guard(), 100, MANY, 1)
    gone = MANY
    for listing in range(2, 6):
        gone |= keys(100 + listing)
        guard = judge(guard, 100, gone, listing)
        assert not guard.holds


LISTS = st.lists(st.tuples(st.sets(st.integers(0, 20)), st.booleans()), min_size=1, max_size=12)


@given(history=LISTS)
def test_more_than_a_few_go_only_if_two_lists_lacked_them(
    history: list[tuple[set[int], bool]],
) -> None:
    guard, listing, mirrors = Guard(), 0, 21
    lacking: dict[Key, set[int]] = {}  # the lists that lacked a key, since it was last there
    for numbers, is_new_list in history:
        listing += is_new_list
        orphans = keys(*numbers)
        lacking = {key: lacking.get(key, set()) | {listing} for key in orphans}
        guard = judge(guard, mirrors, orphans, listing)
        if not guard.holds:
            once = [key for key in orphans if len(lacking[key]) < 2]
            assert len(once) <= 5


@given(orphans=st.sets(st.integers(0, 20)), mirrors=st.integers(0, 50))
def test_two_lists_that_agree_are_always_enough(orphans: set[int], mirrors: int) -> None:
    first = judge(Guard(), mirrors, keys(*orphans), 1)
    assert not judge(first, mirrors, keys(*orphans), 2).holds
