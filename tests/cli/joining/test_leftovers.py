"""What ``unlink --force`` may delete: what a Link has left behind, and never anything else."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.cli.joining.leftovers import Seen, leftovers
from isthmus.model.links import Link
from isthmus.model.names import CLUSTER, LINK_UID, MANAGED_BY, MANAGER, MIRRORED, SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Metadata, Service
from tests.support.builders import link, namespace, service, slice_of

NAMES = st.sampled_from(["web-west", "db-0-west", "web"])
LABELS = st.fixed_dictionaries(
    {},
    optional={
        MIRRORED: st.sampled_from(["true", "false"]),
        CLUSTER: st.sampled_from(["west", "north"]),
        MANAGED_BY: st.sampled_from([MANAGER, "endpointslice-controller.k8s.io"]),
        SERVICE_NAME: NAMES,
    },
)
# Of the Link that ends, of one that goes on, and of one that exists no more.
UIDS = ("link-west", "link-north", "former")
ANNOTATIONS = st.fixed_dictionaries({}, optional={LINK_UID: st.sampled_from(UIDS)})
ENDS = st.sampled_from([None, None, "2026-01-01T00:00:00Z"])


@st.composite
def described(draw: st.DrawFn) -> Metadata:
    return Metadata(
        name=draw(NAMES),
        namespace=draw(st.sampled_from(["shop", "ending"])),
        labels=draw(LABELS),
        annotations=draw(ANNOTATIONS),
        deletion_timestamp=draw(ENDS),
    )


def unique(made: st.SearchStrategy[Metadata]) -> st.SearchStrategy[list[Metadata]]:
    return st.lists(made, max_size=5, unique_by=lambda one: one.key)


@st.composite
def clusters(draw: st.DrawFn) -> Seen:
    return Seen(
        services=tuple(replace(service(), metadata=one) for one in draw(unique(described()))),
        slices=tuple(replace(slice_of("x"), metadata=one) for one in draw(unique(described()))),
        namespaces=(namespace("shop"), namespace("ending", terminating=True)),
        links=tuple(draw(st.sampled_from([(link("north"),), (link("west"), link("north"))]))),
    )


def everything(seen: Seen) -> list[Service | EndpointSlice]:
    return [*seen.services, *seen.slices]


def is_of(one: Service | EndpointSlice, links: tuple[Link, ...]) -> bool:
    labels, owner = one.metadata.labels, one.metadata.annotations.get(LINK_UID)
    if labels.get(MIRRORED) != "true" or owner is None:
        return False
    forgotten = labels.get(CLUSTER) == "west" and owner not in {each.uid for each in links}
    return owner == "link-west" or forgotten


def is_ours(one: Service | EndpointSlice) -> bool:
    """A slice can be anybody's although its Service is ours."""
    labels = one.metadata.labels
    return isinstance(one, Service) or (
        labels.get(MANAGED_BY) == MANAGER and SERVICE_NAME in labels
    )


@given(seen=clusters())
def test_nothing_goes_that_is_anybody_elses(seen: Seen) -> None:
    for one in leftovers(seen, "west", "link-west"):
        labels, annotations = one.metadata.labels, one.metadata.annotations
        assert labels[MIRRORED] == "true"
        assert annotations[LINK_UID] in ("link-west", "former")
        assert (
            annotations[LINK_UID] == "link-west"
            or labels.get(CLUSTER) == "west"
            or any(
                annotations[LINK_UID] == each.metadata.annotations.get(LINK_UID)
                and each.metadata.labels.get(CLUSTER) == "west"
                for each in everything(seen)
            )
        )


@given(seen=clusters())
def test_everything_goes_that_a_link_has_left(seen: Seen) -> None:
    gone = leftovers(seen, "west", "link-west")
    for one in everything(seen):
        is_wanted = is_of(one, seen.links) and is_ours(one)
        is_ending = (
            one.metadata.namespace == "ending" or one.metadata.deletion_timestamp is not None
        )
        assert (one in gone) or not is_wanted or is_ending
        assert not (one in gone and is_ending)


def test_of_a_link_that_is_gone_only_what_names_its_cluster_is_known() -> None:
    def mirror(name: str, cluster: str, uid: str) -> Service:
        labels = {MIRRORED: "true", CLUSTER: cluster}
        return service(name, labels=labels, annotations={LINK_UID: uid})

    services = (
        mirror("a-west", "west", "former"),
        mirror("b-west", "west", "link-west2"),
        mirror("c-north", "north", "former-north"),
        service("d-west"),
    )
    seen = Seen(services, (), (namespace(),), (replace(link("west"), metadata=_west2()),))
    assert leftovers(seen, "west", "") == [services[0]]


def _west2() -> Metadata:
    return replace(link("west").metadata, uid="link-west2")
