"""Whatever the events, a cache holds what they say and its indexes agree with it."""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from isthmus.runtime.cache import Cache, Change, Event, Gone, Listed, Put


@dataclass(frozen=True, slots=True)
class Slice:
    name: str
    services: tuple[str, ...] = ()
    ready: bool = True


def name(it: Slice) -> str:
    return it.name


def services(it: Slice) -> tuple[str, ...]:
    return it.services


A = Slice("a", ("web",))
A_DOWN = Slice("a", ("web",), ready=False)
B = Slice("b", ("web", "db"))
A_NEW, A_GONE, B_NEW = Change("a", None, A), Change("a", A, None), Change("b", None, B)


@pytest.mark.parametrize(
    "held, event, changes",
    [
        pytest.param([], Put(A), [A_NEW], id="a new object"),
        pytest.param([A], Put(A), [], id="the same again is no change"),
        pytest.param([A], Put(A_DOWN), [Change("a", A, A_DOWN)], id="a changed object"),
        pytest.param([A], Gone("a"), [A_GONE], id="a deleted object"),
        pytest.param([], Gone("a"), [], id="deleted before it was seen"),
        pytest.param([], Listed((A, B)), [A_NEW, B_NEW], id="the first snapshot"),
        pytest.param([A, B], Listed((B,)), [A_GONE], id="a delete that no event told about"),
        pytest.param([A, B], Listed((B, A)), [], id="the same snapshot again"),
        pytest.param([A], Listed((), frozenset("a")), [], id="unreadable is not deleted"),
        pytest.param([], Listed((B,), frozenset("a")), [B_NEW], id="unreadable and unknown"),
    ],
)
def test_an_event_returns_what_it_changed(
    held: list[Slice], event: Event[str, Slice], changes: list[Change[str, Slice]]
) -> None:
    cache = Cache[str, Slice](name)
    for value in held:
        cache.fold(Put(value))
    assert cache.fold(event) == changes


def test_the_cache_is_synced_from_the_first_snapshot_on_even_an_empty_one() -> None:
    cache = Cache[str, Slice](name)
    cache.fold(Put(A))
    assert not cache.synced
    cache.fold(Listed(()))
    assert cache.synced
    cache.fold(Put(A))
    assert cache.synced


def test_an_index_that_is_added_late_knows_what_was_there() -> None:
    cache = Cache[str, Slice](name)
    cache.fold(Listed((A, B)))
    assert cache.index(services)["web"] == {"a", "b"}


NAMES = st.sampled_from("abcde")
SLICES = st.builds(
    Slice,
    NAMES,
    st.lists(st.sampled_from(("web", "db", "mq")), max_size=2).map(tuple),
    st.booleans(),
)


class CacheAgainstDict(RuleBasedStateMachine):
    """The cache does what a dict that is rebuilt after every event would do."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, Slice] = {}
        self.cache = Cache[str, Slice](name)
        self.by_service = self.cache.index(services)

    def _fold(self, event: Event[str, Slice], after: dict[str, Slice]) -> None:
        before, self.model = self.model, after
        touched = {
            key: (before.get(key), after.get(key))
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
        }
        changes = self.cache.fold(event)
        assert {change.key: (change.before, change.after) for change in changes} == touched
        assert len(changes) == len(touched)

    @rule(value=SLICES)
    def put(self, value: Slice) -> None:
        self._fold(Put(value), {**self.model, value.name: value})

    @rule(key=NAMES)
    def gone(self, key: str) -> None:
        self._fold(Gone(key), {name: it for name, it in self.model.items() if name != key})

    @rule(values=st.lists(SLICES, unique_by=name), unreadable=st.frozensets(NAMES))
    def listed(self, values: list[Slice], unreadable: frozenset[str]) -> None:
        readable = {value.name: value for value in values}
        kept = {key: self.model[key] for key in self.model.keys() & unreadable}
        self._fold(Listed(tuple(values), unreadable), {**kept, **readable})

    @invariant()
    def holds_the_same_objects(self) -> None:
        assert self.cache.objects == self.model

    @invariant()
    def indexes_the_same_keys(self) -> None:
        expected: dict[str, set[str]] = {}
        for key, value in self.model.items():
            for service in value.services:
                expected.setdefault(service, set()).add(key)
        assert {service: set(self.by_service[service]) for service in self.by_service} == expected
        assert self.by_service["unknown"] == set()


test_the_cache_agrees_with_a_dict = CacheAgainstDict.TestCase
test_the_cache_agrees_with_a_dict.settings = settings(max_examples=60, stateful_step_count=30)
