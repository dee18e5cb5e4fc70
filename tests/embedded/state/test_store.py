"""The store keeps objects in order, remembers how it came to hold them, and forgets on demand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from isthmus.embedded.state.store import Compacted, Event, Key, Moved, Record, Store
from isthmus.model.wire import JsonObject

THINGS = "/things"


def thing(namespace: str, name: str, **content: str) -> tuple[Key, JsonObject]:
    metadata = {"name": name, "namespace": namespace}
    whole = {"kind": "Thing", "apiVersion": "v1", "metadata": metadata, **content}
    return Key(THINGS, namespace, name), whole


def names(records: list[Record]) -> list[str]:
    return ["/".join(record.key.place) for record in records]


def test_every_write_counts_and_stamps_its_object() -> None:
    store = Store()
    first = store.put(*thing("a", "one"))
    second = store.put(*thing("a", "one", colour="red"))
    assert second.revision == first.revision + 1 == store.revision
    assert second.object["metadata"]["resourceVersion"] == str(second.revision)
    assert second.body == (
        b'{"metadata":{"name":"one","namespace":"a","resourceVersion":"3"},"colour":"red"}'
    )


def test_a_write_may_expect_a_revision() -> None:
    store = Store()
    key, obj = thing("a", "one")
    made = store.put(key, obj, 0)
    with pytest.raises(Moved):
        store.put(key, obj, 0)
    with pytest.raises(Moved):
        store.remove(key, made.revision - 1)
    assert store.remove(key, made.revision).revision == made.revision + 1
    with pytest.raises(Moved):
        store.remove(key)


def test_lists_are_ordered_by_namespace_then_name() -> None:
    store = Store()
    for place in [("b", "a"), ("a-b", "z"), ("a", "z"), ("a", "b")]:
        store.put(*thing(*place))
    assert names(store.scan(THINGS)) == ["a/b", "a/z", "a-b/z", "b/a"]
    assert names(store.scan(THINGS, "a")) == ["a/b", "a/z"]
    assert names(store.scan(THINGS, after=("a", "z"))) == ["a-b/z", "b/a"]


def test_the_past_can_be_read_until_it_is_compacted() -> None:
    store = Store()
    store.put(*thing("a", "kept", colour="red"))
    gone, _ = thing("a", "gone")
    store.put(*thing("a", "gone"))
    then = store.revision
    store.remove(gone)
    store.put(*thing("a", "kept", colour="blue"))
    store.put(*thing("a", "new"))
    assert names(store.scan(THINGS, at=then)) == ["a/gone", "a/kept"]
    assert [r.object.get("colour") for r in store.scan(THINGS, at=then)] == [None, "red"]
    assert store.get(gone, at=then) is not None
    store.compact()
    with pytest.raises(Compacted):
        store.scan(THINGS, at=then)
    assert names(store.scan(THINGS, at=store.revision)) == ["a/kept", "a/new"]


def test_compaction_does_not_harm_a_watcher_that_is_behind() -> None:
    store = Store()
    with store.subscribed(THINGS, store.revision) as subscription:
        store.put(*thing("a", "one"))
        store.compact()
        assert [event.key.name for event in store.missed(THINGS, subscription)] == ["one"]


def test_a_watcher_that_sleeps_too_long_is_told_so() -> None:
    store = Store(history=10)
    with store.subscribed(THINGS, store.revision) as subscription:
        for number in range(30):
            store.put(*thing("a", f"n{number}"))
        with pytest.raises(Compacted):
            store.missed(THINGS, subscription)


def test_a_restored_store_has_forgotten_what_came_after_the_backup() -> None:
    store = Store()
    store.put(*thing("a", "one"))
    backup = store.snapshot()
    store.put(*thing("a", "two"))
    with store.subscribed(THINGS, store.revision) as subscription:
        store.restore(backup)
        assert subscription.closed
    assert names(store.scan(THINGS)) == ["a/one"]
    assert store.revision == backup.revision
    with pytest.raises(Compacted):
        store.since(THINGS, backup.revision - 1)


places = st.tuples(st.sampled_from(["", "a", "a-b", "b"]), st.sampled_from(["x", "y", "z"]))


class History(RuleBasedStateMachine):
    """Whatever is written, each revision reads as it was, and replaying the events leads there."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.states: dict[int, list[str]] = {self.store.revision: []}
        self.replayed: dict[Key, Record] = {}
        self.store.follow(self)

    def reset(self, records: object) -> None:
        """Nothing is there when following starts."""

    def note(self, event: Event) -> None:
        if event.after is None:
            del self.replayed[event.key]
        else:
            self.replayed[event.key] = event.after

    @rule(place=places)
    def put(self, place: tuple[str, str]) -> None:
        self.store.put(*thing(*place))
        self._remember()

    @rule(place=places)
    def remove(self, place: tuple[str, str]) -> None:
        key, _ = thing(*place)
        if self.store.get(key) is not None:
            self.store.remove(key)
            self._remember()

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        self.store.compact(self.store.revision - back)

    def _remember(self) -> None:
        self.states[self.store.revision] = names(self.store.scan(THINGS))

    @invariant()
    def every_kept_revision_reads_as_it_was(self) -> None:
        for revision, state in self.states.items():
            if revision >= self.store.compacted:
                assert names(self.store.scan(THINGS, at=revision)) == state

    @invariant()
    def events_lead_to_the_present(self) -> None:
        assert sorted(self.replayed) == [record.key for record in self.store.scan(THINGS)]


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=25, stateful_step_count=20)


@given(st.lists(places), places, st.sampled_from(["", "a", "b"]))
def test_pages_are_parts_of_the_whole(
    written: list[tuple[str, str]], after: tuple[str, str], namespace: str
) -> None:
    store = Store()
    for place in written:
        store.put(*thing(*place))
    whole = [record.key.place for record in store.scan(THINGS)]
    page = [record.key.place for record in store.scan(THINGS, namespace, after)]
    assert page == [p for p in whole if p > after and (not namespace or p[0] == namespace)]
