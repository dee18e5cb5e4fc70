"""However it came about, what the controller knows is what it would know if it started now.

Events of all kinds come in any order. In the end a second state is told the same facts at once: it
must see the same world. And no name may be forgotten: whatever the plan for a name is by now, it
was the plan when the name was last taken from the queue, or the name is queued. (Only what was to
be deleted may turn out to stay without a word: nothing is left to do about it.)
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.apps.controller.mirroring.expected import Expected
from isthmus.apps.controller.mirroring.remote import Listing
from isthmus.apps.controller.mirroring.state import State
from isthmus.core.plan import plan
from isthmus.model import names
from isthmus.model.actions import Action, Delete
from isthmus.model.links import Limits, Link, LinkStatus
from isthmus.model.objects import (
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Namespace,
    Service,
    ServicePort,
    ServiceSpec,
)
from isthmus.runtime.cache import Gone, Listed, Put
from isthmus.runtime.workqueue import Lane
from tests.support import builders
from tests.support.builders import EXPORT_LABEL, endpoint

T = TypeVar("T", Service, EndpointSlice)

PORTS = (ServicePort(port=80, name="http"),)


class Still:
    """A clock that stands."""

    def now(self) -> float:
        return 0.0

    def utc(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing here waits for {seconds} seconds")


@dataclass(slots=True)
class Controller:
    """A state, the names that it has queued, and the plans of those that were taken."""

    queued: set[Key] = field(default_factory=set)
    planned: dict[Key, list[Action]] = field(default_factory=dict)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        expected = Expected(Still(), self._queue)
        self.state = State("isthmus", self._queue, lambda _uid: None, expected)

    def _queue(self, name: Key, _lane: Lane) -> None:
        self.queued.add(name)

    def work(self) -> None:
        """Take every name from the queue."""
        world = self.state.world()
        for name in self.queued:
            self.planned[name] = plan(world, name)
        self.queued.clear()


Step: TypeAlias = Callable[[Controller], None]

# Few names, so that they meet often. What mirrors stand for is among what targets export.
CLUSTERS = ("west", "east-west")
SPACES = ("shop", "bank")
EXPORTS = ("web", "db", "web-east")
PODS = ("db-0", "db-1")
MIRRORS = {  # local name: what it may stand for
    "web-west": ("web", ""),
    "db-west": ("db", ""),
    "db-0-west": ("db", "db-0"),
    "db-1-west": ("db", "db-1"),
    "web-east-west": ("web", ""),
}

spaces = st.sampled_from(SPACES)
clusters = st.sampled_from(CLUSTERS)


def uid_of(cluster: str) -> str:
    return f"link-{cluster}"


@st.composite
def marks(draw: st.DrawFn, name: str, namespace: str) -> Metadata:
    """Metadata of what may be a mirror: of either link, of another export, or somebody else's."""
    export, hostname = MIRRORS[name]
    cluster = draw(clusters)
    export = draw(st.sampled_from([export, export, "web", "db"]))
    labels, annotations = dict[str, str](), dict[str, str]()
    if draw(st.integers(0, 4)):
        domain = f"{cluster}.cluster.local"
        labels = {names.MIRRORED: "true", names.CLUSTER: cluster}
        annotations = {
            names.LINK_UID: uid_of(cluster),
            names.REMOTE_NAME: names.authority(namespace, export, domain, hostname),
            names.REMOTE_UID: "u1",
        }
        if hostname:
            labels[names.HEADLESS_MIRROR] = f"db-{cluster}"
    return Metadata(
        namespace=namespace,
        name=name,
        uid="u",
        resource_version=draw(st.sampled_from("12")),
        labels=labels,
        annotations=annotations,
    )


@st.composite
def local_services(draw: st.DrawFn) -> Service:
    name, namespace = draw(st.sampled_from(sorted(MIRRORS))), draw(spaces)
    ip = draw(st.sampled_from(["10.96.0.1", "10.96.0.2", "None"]))
    spec = ServiceSpec(cluster_ip=ip, cluster_ips=(ip,), ports=PORTS)
    return Service(metadata=draw(marks(name, namespace)), spec=spec)


@st.composite
def local_slices(draw: st.DrawFn) -> EndpointSlice:
    """Without a ready endpoint, so that it does not matter whether a list or a watch took it."""
    name, namespace = draw(st.sampled_from(sorted(MIRRORS))), draw(spaces)
    metadata = draw(marks(name, namespace))
    labels = {**metadata.labels, names.SERVICE_NAME: name}
    if draw(st.booleans()):
        labels[names.MANAGED_BY] = names.MANAGER
    # A listener port of its own: who gets a contested one is for the planner to say.
    number = 20_000 + sorted(MIRRORS).index(name) * 10 + SPACES.index(namespace)
    return EndpointSlice(
        metadata=replace(metadata, name=f"{name}-ipv4", labels=labels),
        address_type="IPv4",
        endpoints=draw(st.sampled_from([(), (endpoint("10.0.0.7", ready=False),)])),
        ports=(EndpointPort(name="http", port=number),),
    )


@st.composite
def links(draw: st.DrawFn) -> Link:
    cluster = draw(clusters)
    made = builders.link(
        cluster,
        created=f"2026-01-0{1 + CLUSTERS.index(cluster)}T00:00:00Z",
        enable_headless_services=draw(st.booleans()),
        create_namespaces=draw(st.booleans()),
        data_plane=draw(st.sampled_from(["envoy", "external"])),
        naming=draw(st.sampled_from(["{service}-{cluster}", "{cluster}-{service}"])),
        limits=Limits(services=draw(st.sampled_from([1, 2, 10_000]))),
    )
    ends = draw(st.sampled_from([None, None, None, "2026-02-01T00:00:00Z"]))
    finalizers = draw(st.sampled_from([(names.FINALIZER,), (names.FINALIZER,), ()]))
    recorded = draw(st.sampled_from(["", "one", "one", "two"]))
    metadata = replace(made.metadata, finalizers=finalizers, deletion_timestamp=ends)
    return replace(made, metadata=metadata, status=LinkStatus(cluster_uid=recorded))


@st.composite
def remote_services(draw: st.DrawFn) -> Service:
    labels = draw(st.sampled_from([EXPORT_LABEL, EXPORT_LABEL, {}]))
    ip = draw(st.sampled_from(["10.97.0.1", "None", "None"]))
    kind = draw(st.sampled_from(["ClusterIP", "ClusterIP", "ExternalName"]))
    made = builders.service(
        draw(st.sampled_from(EXPORTS)),
        draw(spaces),
        labels=labels,
        spec=ServiceSpec(type=kind, cluster_ip=ip, ports=PORTS),
    )
    created = draw(st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]))
    return replace(made, metadata=replace(made.metadata, creation_timestamp=created))


@st.composite
def remote_slices(draw: st.DrawFn) -> EndpointSlice:
    name, namespace = draw(st.sampled_from(EXPORTS)), draw(spaces)
    hostnames = draw(st.lists(st.sampled_from([*PODS, None]), max_size=2, unique=True))
    ready = draw(st.booleans())
    made = builders.slice_of(
        name,
        *(endpoint(f"10.2.0.{at}", one, ready=ready) for at, one in enumerate(hostnames, 1)),
        namespace=namespace,
    )
    return replace(made, metadata=replace(made.metadata, labels={names.SERVICE_NAME: name}))


def by_key(objects: Iterable[T]) -> tuple[T, ...]:
    """One object for each name, as a list has it."""
    return tuple({one.metadata.key: one for one in objects}.values())


# What may happen.


def namespace_put(name: str) -> Step:
    def step(one: Controller) -> None:
        one.state.fold_namespaces(Put(Namespace(metadata=Metadata(name=name))))

    return step


def namespace_ending(name: str) -> Step:
    def step(one: Controller) -> None:
        if Key("", name) in one.state.namespaces.objects:  # from which there is no way back
            one.state.fold_namespaces(Put(builders.namespace(name, terminating=True)))
            one.state.fold_namespaces(Gone(Key("", name)))

    return step


def service_put(value: Service) -> Step:
    return lambda one: one.state.fold_services(Put(value))


def service_gone(name: str, namespace: str) -> Step:
    return lambda one: one.state.fold_services(Gone(Key(namespace, name)))


def services_listed(values: list[Service]) -> Step:
    return lambda one: one.state.fold_services(Listed(by_key(values)))


def slice_put(value: EndpointSlice) -> Step:
    return lambda one: one.state.fold_slices(Put(value))


def slice_gone(name: str, namespace: str) -> Step:
    return lambda one: one.state.fold_slices(Gone(Key(namespace, f"{name}-ipv4")))


def slices_listed(values: list[EndpointSlice]) -> Step:
    return lambda one: one.state.fold_slices(Listed(by_key(values)))


def egress_put(addresses: list[str]) -> Step:
    made = builders.slice_of("egress", *map(endpoint, addresses), namespace="isthmus")
    return lambda one: one.state.fold_egress(Put(made))


def link_put(value: Link) -> Step:
    return lambda one: one.state.fold_links(Put(value))


def link_gone(cluster: str) -> Step:
    return lambda one: one.state.fold_links(Gone(Key("", cluster)))


def adopted(cluster: str, services: list[Service], slices: list[EndpointSlice]) -> Step:
    def step(one: Controller) -> None:
        remote = Listing()
        remote.fold_services(Listed(by_key(services)))
        remote.fold_slices(Listed(by_key(slices)))
        one.state.adopt(uid_of(cluster), remote)

    return step


def remote_changed(cluster: str, event: Put[Service] | Put[EndpointSlice] | Gone[Key]) -> Step:
    def step(one: Controller) -> None:
        uid = uid_of(cluster)
        target = one.state.targets.get(uid)
        if target is None or not isinstance(target.remote, Listing):
            return
        match event:
            case Put(Service()) as put:
                keys = target.remote.fold_services(put)
            case Put(EndpointSlice()) as put:
                keys = target.remote.fold_slices(put)
            case Gone():
                keys = target.remote.fold_services(event)
            case _:
                raise AssertionError(event)
        one.state.exported(uid, target.remote, keys, Lane.SINGLE)

    return step


def met(cluster: str, identity: str) -> Step:
    def step(one: Controller) -> None:
        target = one.state.targets.get(uid_of(cluster))
        if target is not None and not target.pinned:  # the first contact, and only that, pins
            one.state.pin(target.uid, identity)

    return step


def probed(cluster: str, alive: bool) -> Step:
    return lambda one: one.state.probed(uid_of(cluster), alive, alive)


def resolved(cluster: str, addresses: list[str]) -> Step:
    return lambda one: one.state.resolved(uid_of(cluster), tuple(sorted(addresses)), ())


mirrors = st.sampled_from(sorted(MIRRORS))
addresses = st.lists(st.sampled_from(["203.0.113.7", "203.0.113.8"]), max_size=2, unique=True)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(namespace_put, spaces),
    st.builds(namespace_ending, spaces),
    st.builds(service_put, local_services()),
    st.builds(service_gone, mirrors, spaces),
    st.builds(services_listed, st.lists(local_services(), max_size=6)),
    st.builds(slice_put, local_slices()),
    st.builds(slice_gone, mirrors, spaces),
    st.builds(slices_listed, st.lists(local_slices(), max_size=6)),
    st.builds(egress_put, addresses),
    st.builds(link_put, links()),
    st.builds(link_put, links()),
    st.builds(link_gone, clusters),
    st.builds(
        adopted,
        clusters,
        st.lists(remote_services(), max_size=4),
        st.lists(remote_slices(), max_size=4),
    ),
    st.builds(remote_changed, clusters, st.builds(Put, remote_services())),
    st.builds(remote_changed, clusters, st.builds(Put, remote_slices())),
    st.builds(
        remote_changed, clusters, st.builds(Gone, st.builds(Key, spaces, st.sampled_from(EXPORTS)))
    ),
    st.builds(met, clusters, st.sampled_from(["one", "two"])),
    st.builds(probed, clusters, st.booleans()),
    st.builds(resolved, clusters, addresses),
    st.just(Controller.work),
)
BEGINNINGS = st.sampled_from([(), ("west",), CLUSTERS])


def standing(name: str, ip: str) -> Service:
    """A mirror in shop, as the controller of the link to west has made it."""
    export, hostname = MIRRORS[name]
    labels = {names.MIRRORED: "true", names.CLUSTER: "west"}
    if hostname:
        labels[names.HEADLESS_MIRROR] = "db-west"
    annotations = {
        names.LINK_UID: uid_of("west"),
        names.REMOTE_NAME: names.authority("shop", export, "west.cluster.local", hostname),
        names.REMOTE_UID: f"uid-of-{export}",
    }
    spec = ServiceSpec(cluster_ip=ip, cluster_ips=(ip,), ports=PORTS)
    return builders.service(name, labels=labels, annotations=annotations, spec=spec)


def began(started: Controller, with_links: tuple[str, ...]) -> None:
    """Let there be links that are armed, exports, and the mirrors of those of the first."""
    state = started.state
    state.fold_namespaces(Listed(tuple(map(builders.namespace, SPACES))))
    mirrors = (("web-west", "10.96.0.1"), ("db-west", "None"), ("db-0-west", "10.96.0.2"))
    state.fold_services(Listed(tuple(standing(*one) for one in mirrors if with_links)))
    state.fold_slices(Listed(()))
    state.fold_egress(Listed(()))
    state.fold_links(Listed(()))
    for at, cluster in enumerate(with_links):
        made = builders.link(cluster, created=f"2026-01-0{1 + at}T00:00:00Z")
        metadata = replace(made.metadata, finalizers=(names.FINALIZER,))
        status = LinkStatus(cluster_uid=("one", "two")[at])
        state.fold_links(Put(replace(made, metadata=metadata, status=status)))
        spec = ServiceSpec(cluster_ip="10.97.0.1", ports=PORTS)
        headless = replace(spec, cluster_ip="None")
        services = [
            builders.service("web", labels=EXPORT_LABEL, spec=spec),
            builders.service("db", labels=EXPORT_LABEL, spec=headless),
        ]
        pods = builders.slice_of("db", endpoint("10.2.0.1", "db-0"))
        labelled = replace(pods.metadata, labels={names.SERVICE_NAME: "db"})
        adopted(cluster, services, [replace(pods, metadata=labelled)])(started)


def told_at_once(known: State) -> Controller:
    """A controller that starts now."""
    made = Controller()
    state = made.state
    state.fold_namespaces(Listed(tuple(known.namespaces.objects.values())))
    state.fold_services(Listed(tuple(known.services.objects.values())))
    state.fold_slices(Listed(tuple(known.slices.objects.values())))
    state.fold_egress(Listed(tuple(known.egress_slices.objects.values())))
    state.fold_links(Listed(tuple(known.links.objects.values())))
    for uid, target in known.targets.items():
        if target.pinned:
            state.pin(uid, target.pinned)
        state.probed(uid, target.gateway_alive, target.gateway_known)
        state.resolved(uid, target.gateway_addresses, ())
    for uid, target in known.targets.items():
        if isinstance(target.remote, Listing):
            remote = Listing()
            remote.fold_services(Listed(tuple(target.remote.services.objects.values())))
            remote.fold_slices(Listed(tuple(target.remote.slices.objects.values())))
            state.adopt(uid, remote)
    return made


def seen(state: State) -> Mapping[str, object]:
    """All that a state is asked for, in a form that can be compared."""
    world = state.world()
    return {
        "links": {
            uid: (
                view.link,
                dict(view.exports),
                view.synced,
                view.synced and view.deletions_held,
                view.gateway_alive,
                view.gateway_addresses,
            )
            for uid, view in world.links.items()
        },
        "claims": {name: set(claims) for name, claims in world.claims.items()},
        "egress": world.egress,
        "listeners": dict(world.listeners),
        "slices": dict(world.slices),
        "owned": {uid: set(state.owned[uid]) for uid in state.targets},
        "orphans": {uid: set(state._orphans.of(uid)) for uid in state.targets},
        "targets": {
            uid: (
                target.rival,
                target.is_armed,
                target.refused,
                target.admitted.excess,
                target.admitted.left_out,
                target.held if target.is_armed and target.is_synced else None,
            )
            for uid, target in state.targets.items()
        },
    }


def all_names(state: State) -> set[Key]:
    world = state.world()
    return {*world.claims, *world.services, *world.slices}


@settings(max_examples=200)
@given(with_links=BEGINNINGS, steps=st.lists(STEPS, max_size=25))
def test_what_is_known_does_not_depend_on_how_it_came_about(
    with_links: tuple[str, ...], steps: list[Step]
) -> None:
    one = Controller()
    began(one, with_links)
    for step in steps:
        step(one)
    other = told_at_once(one.state)
    for uid, target in one.state.targets.items():
        # What is held stays so until it is confirmed; one that starts now does not know of it.
        assert other.state.targets[uid].guard.held <= target.guard.held | target.guard.allowed
        for state in (one.state, other.state):
            state.confirm(uid, state.targets[uid].held)
    assert seen(one.state) == seen(other.state)
    before, after = one.state.world(), other.state.world()
    for name in all_names(one.state):
        assert plan(before, name) == plan(after, name)


@settings(max_examples=200)
@given(with_links=BEGINNINGS, steps=st.lists(STEPS, max_size=25))
def test_no_name_is_forgotten(with_links: tuple[str, ...], steps: list[Step]) -> None:
    one = Controller()
    began(one, with_links)
    one.work()
    for step in steps:
        step(one)
    world = one.state.world()
    for name in all_names(one.state) | one.planned.keys():
        if name not in one.queued:
            now, then = plan(world, name), one.planned.get(name, [])
            needless = not now and all(isinstance(action, Delete) for action in then)
            assert needless or now == then, name


@settings(max_examples=100)
@given(with_links=BEGINNINGS, steps=st.lists(STEPS, max_size=25))
def test_a_start_queues_every_name_that_there_is_something_to_do_about(
    with_links: tuple[str, ...], steps: list[Step]
) -> None:
    one = Controller()
    began(one, with_links)
    for step in steps:
        step(one)
    other = told_at_once(one.state)
    world = other.state.world()
    for name in all_names(other.state) - other.queued:
        assert plan(world, name) == [], name


def test_a_replica_that_learns_of_a_new_pin_from_the_status_claims_again() -> None:
    one = Controller()
    began(one, ("west",))
    (known,) = one.state.links.objects.values()
    claimed = set(one.state.claims.by_name)
    link_put(replace(known, status=LinkStatus()))(one)
    assert not one.state.claims.by_name
    link_put(known)(one)
    assert set(one.state.claims.by_name) == claimed


def test_what_was_read_of_one_cluster_is_not_mirrored_for_the_one_that_took_its_place() -> None:
    """Until one is recorded, whichever answers is meant; a reading of it may take a while."""
    one = Controller()
    began(one, ())
    made = builders.link("west")
    made = replace(made, metadata=replace(made.metadata, finalizers=(names.FINALIZER,)))
    one.state.fold_links(Put(made))
    spec = ServiceSpec(cluster_ip="10.97.0.1", ports=PORTS)
    one.state.pin(made.uid, "first")
    adopted("west", [builders.service("web", labels=EXPORT_LABEL, spec=spec)], [])(one)
    one.state.pin(made.uid, "second")
    one.state.fold_links(Put(replace(made, status=LinkStatus(cluster_uid="second"))))
    assert one.state.targets[made.uid].is_armed
    assert dict(one.state.claims.by_name) == {}
    adopted("west", [builders.service("db", labels=EXPORT_LABEL, spec=spec)], [])(one)
    assert set(one.state.claims.by_name) == {Key("shop", "db-west")}
