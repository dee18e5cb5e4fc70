"""Whatever happens in whatever order, a proxy gets to where it should be without a gap."""

from collections.abc import Iterable
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.xds.references import Reference
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    Resource,
)
from isthmus.xds.session import Session
from isthmus.xds.snapshot import Entry, Snapshot
from tests.xds.fake_envoy import SCOPES, FakeEnvoy, is_bad

Step = Literal["up", "down", "settle", "reconnect", "restart"]
Phase = tuple[Snapshot, list[Step], Step | None, list[Step]]
NAMES = ("a", "b", "c")
ENOUGH = 2_000  # messages, in which a handful of resources must have settled


def entry(type_url: str, name: str, text: str, needs: Iterable[Reference] = ()) -> Entry:
    needed = frozenset(needs)
    version = f"{text}:{sorted(f'{type_url[-8:]}/{name}' for type_url, name in needed)}"
    return Entry(Resource(type_url, name, version, b""), needed)


@st.composite
def snapshots(draw: st.DrawFn, bad: bool = True) -> Snapshot:
    """Draw a consistent snapshot in which things change, move and share."""
    texts = st.sampled_from(["1", "2", "bad"] if bad else ["1", "2"])
    some = st.sets(st.sampled_from(NAMES))
    types: dict[str, dict[str, Entry]] = {
        kind: {} for kind in (CLUSTER, ENDPOINTS, SECRET, LISTENER, ROUTES, SCOPED_ROUTES)
    }

    def add(kind: str, name: str, needs: Iterable[Reference] = ()) -> Reference:
        types[kind][name] = entry(kind, name, draw(texts), needs)
        return Reference(kind, name)

    for name in draw(some):
        needs = [Reference(ENDPOINTS, draw(st.sampled_from([name, "shared"])))]
        needs += [Reference(SECRET, one) for one in draw(st.sets(st.sampled_from(["s", "t"])))]
        for need in needs:
            if need.name not in types[need.type_url]:
                add(*need)
        add(CLUSTER, name, needs)
    clusters = sorted(types[CLUSTER])
    needed = st.sets(st.sampled_from(clusters), min_size=1) if clusters else st.just(set[str]())
    routes = [add(ROUTES, f"r{name}", _clusters(draw(needed))) for name in draw(some)]
    for name in draw(some):
        add(SCOPED_ROUTES, f"s{name}", _clusters(draw(needed)))
    for name in draw(some):
        followed = draw(st.sets(st.sampled_from([SCOPES, *routes]), max_size=1))
        add(LISTENER, name, [*_clusters(draw(needed)), *followed])
    return Snapshot({kind: found for kind, found in types.items() if found})


def _clusters(names: Iterable[str]) -> list[Reference]:
    return [Reference(CLUSTER, name) for name in sorted(names)]


class World:
    """A proxy, the session with it, and what lies on the wire between them."""

    def __init__(self) -> None:
        self.envoy = FakeEnvoy()
        self.session = Session()
        self.latest: Snapshot | None = None

    def publish(self, snapshot: Snapshot) -> None:
        self.latest = snapshot
        self.envoy.inbox.extend(self.session.publish(snapshot))

    def step(self, step: Step) -> None:
        match step:
            case "up" if self.envoy.outbox:
                self.envoy.inbox.extend(self.session.receive(self.envoy.outbox.popleft()))
            case "down" if self.envoy.inbox:
                self.envoy.process()
            case "restart":
                self.envoy = FakeEnvoy()
                self._accept()
            case "reconnect":
                self.envoy.connect()
                self._accept()
            case "settle":
                self.settle()

    def _accept(self) -> None:
        self.session = Session()
        if self.latest is not None:
            self.envoy.inbox.extend(self.session.publish(self.latest))

    def settle(self) -> None:
        for _ in range(ENOUGH):
            if not self.envoy.inbox and not self.envoy.outbox:
                if not self.envoy.lacking:
                    return
                self.envoy.lose_patience()
            self.step("up")
            self.step("down")
        raise AssertionError("it goes on for ever")


def assert_arrived(world: World) -> None:
    """Check that the proxy holds exactly the snapshot, of what it asks for by name its part."""
    assert world.latest is not None
    for kind, taken in world.envoy.taken.items():
        if kind not in world.envoy.started or (kind == SCOPED_ROUTES and not world.envoy.is_scoped):
            continue
        wanted = world.latest.of(kind)
        if kind in world.envoy.interest:
            wanted = {name: wanted[name] for name in world.envoy.interest[kind]}
        assert taken == wanted, kind
    assert world.envoy.serving == world.latest.of(CLUSTER)
    assert world.session.pending == 0


def histories(*, bad: bool, cuts: tuple[Step, ...]) -> st.SearchStrategy[list[Phase]]:
    """Snapshots, each followed by as much traffic as there is time for: some, or all of it."""
    traffic = st.lists(st.sampled_from(["up", "down", "up", "down", "settle"]), max_size=8)
    cut = st.sampled_from([None, None, *cuts])
    return st.lists(st.tuples(snapshots(bad), traffic, cut, traffic), max_size=6)


ANY = histories(bad=True, cuts=("reconnect", "restart"))


def run(world: World, history: Iterable[Phase]) -> None:
    for snapshot, before, cut, after in history:
        world.publish(snapshot)
        for step in (*before, *([cut] if cut else ()), *after):
            world.step(step)


@settings(max_examples=200)
@given(history=ANY, last=snapshots(bad=False))
def test_a_proxy_converges_and_never_holds_a_reference_to_nothing(
    history: list[Phase], last: Snapshot
) -> None:
    world = World()
    run(world, history)
    world.publish(last)
    world.settle()
    assert_arrived(world)
    assert not world.session.refused


@settings(max_examples=100)
@given(history=ANY, last=snapshots())
def test_what_is_bad_holds_up_nothing_but_itself_and_what_needs_it(
    history: list[Phase], last: Snapshot
) -> None:
    world = World()
    run(world, history)
    world.publish(last)
    world.settle()
    for kind in (CLUSTER, LISTENER):
        for name, wanted in last.of(kind).items():
            if not is_bad(wanted) and not _rests_on_bad(last, wanted):
                assert world.envoy.taken[kind].get(name) == wanted
            elif is_bad(wanted) and kind == CLUSTER:
                assert Reference(kind, name) in world.session.refused


def _rests_on_bad(snapshot: Snapshot, wanted: Entry) -> bool:
    below = [snapshot.of(need.type_url)[need.name] for need in wanted.needs if need != SCOPES]
    return any(is_bad(one) or _rests_on_bad(snapshot, one) for one in below)


@settings(max_examples=100)
@given(history=histories(bad=False, cuts=("reconnect",)), last=snapshots(bad=False))
def test_a_proxy_gets_only_what_it_does_not_have(history: list[Phase], last: Snapshot) -> None:
    world = World()
    run(world, history)
    world.publish(last)
    world.settle()
    # Endpoints are sent again on purpose, when their cluster was built anew.
    assert [one for one in world.envoy.repeated if one[0] != ENDPOINTS] == []
    before = len(world.envoy.repeated)
    world.step("reconnect")
    world.settle()
    assert world.envoy.repeated[before:] == []
    assert_arrived(world)


@settings(max_examples=100)
@given(history=histories(bad=False, cuts=()), last=snapshots(bad=False))
def test_no_cluster_waits_in_vain_for_its_endpoints_or_secrets(
    history: list[Phase], last: Snapshot
) -> None:
    world = World()
    run(world, history)
    world.publish(last)
    world.settle()
    assert world.envoy.impatient == 0
