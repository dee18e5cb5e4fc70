"""The promises of the planner, for all worlds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.core.world import LinkView
from isthmus.model import names
from isthmus.model.actions import Action, Create, Delete, Report, Update
from isthmus.model.objects import EndpointSlice, Key, Service
from tests.support.builders import namespace, view
from tests.support.model import Source
from tests.support.strategies import LINKS, Edit, edits, foreign_services, targets

Views = tuple[LinkView, ...]

few = settings(max_examples=50)


def source(foreign: list[Service]) -> Source:
    return Source(
        services={one.metadata.key: one for one in foreign},
        namespaces={name: namespace(name) for name in ("shop", "bank")},
    )


def writes(done: list[Action]) -> list[Action]:
    return [one for one in done if not isinstance(one, Report)]


def state(local: Source) -> tuple[object, ...]:
    """What there is, apart from what the server assigns: UIDs, versions, addresses."""
    services = {
        key: (one.metadata.labels, one.metadata.annotations, one.spec.ports, one.spec.type)
        for key, one in local.services.items()
    }
    slices = {
        key: (one.metadata.labels, one.metadata.annotations, one.ports, len(one.endpoints))
        for key, one in local.slices.items()
    }
    return services, slices


@given(before=targets(), after=targets(), foreign=foreign_services())
@few
def test_any_change_settles_within_two_rounds_and_then_costs_nothing(
    before: Views, after: Views, foreign: list[Service]
) -> None:
    local = source(foreign)
    for views in (before, after):
        assert writes(local.settle(*views)) == []


@given(before=targets(), after=targets(), foreign=foreign_services())
@few
def test_what_is_not_ours_is_never_touched(
    before: Views, after: Views, foreign: list[Service]
) -> None:
    local = source(foreign)
    for views in (before, after, (view(LINKS[0]), view(LINKS[1]))):
        for action in (*local.round(*views), *local.round(*views)):
            if isinstance(action, (Create, Update, Delete)):
                assert action.object.metadata.labels.get(names.MIRRORED) == "true"
        assert all(local.services[one.metadata.key] == one for one in foreign)


@given(before=targets(), foreign=foreign_services())
@few
def test_an_empty_target_leaves_nothing_behind(before: Views, foreign: list[Service]) -> None:
    local = source(foreign)
    local.settle(*before)
    local.settle(view(LINKS[0]), view(LINKS[1]))
    assert list(local.services.values()) == foreign
    assert not local.slices


@given(before=targets(), after=targets())
@few
def test_nothing_of_a_link_that_is_not_synced_is_deleted_or_handed_over(
    before: Views, after: Views
) -> None:
    local = source([])
    local.settle(*before)
    theirs = owned(local, LINKS[0].uid)
    blind = view(LINKS[0], synced=False)
    local.settle(blind, after[1])
    assert owned(local, LINKS[0].uid) == theirs


def owned(local: Source, uid: str) -> dict[Key, Service | EndpointSlice]:
    found: list[Service | EndpointSlice] = [*local.services.values(), *local.slices.values()]
    return {
        one.metadata.key: one
        for one in found
        if one.metadata.annotations.get(names.LINK_UID) == uid
    }


@given(views=targets(), foreign=foreign_services())
@few
def test_the_order_of_arrival_does_not_matter_once_all_is_settled(
    views: Views, foreign: list[Service]
) -> None:
    first, second = source(foreign), source(foreign)
    first.settle(*views)
    second.settle(*reversed(views))
    assert first.services.keys() == second.services.keys()
    assert first.slices.keys() == second.slices.keys()


@given(views=targets(), damage=st.lists(edits(), min_size=1, max_size=4))
@few
def test_whatever_a_user_does_to_what_is_ours_is_undone(views: Views, damage: list[Edit]) -> None:
    local = source([])
    local.settle(*views)
    before = state(local)
    for edit in damage:
        edit(local)
    assert writes(local.settle(*views)) == []
    assert state(local) == before


@given(views=targets(), foreign=foreign_services())
@few
def test_every_claim_is_served_or_refused_with_a_reason(
    views: Views, foreign: list[Service]
) -> None:
    local = source(foreign)
    reports = [one for one in local.settle(*views) if isinstance(one, Report)]
    for key, claims in local.world(*views).claims.items():
        found = local.services.get(key)
        served = found is not None and names.LINK_UID in found.metadata.annotations
        refused = [one for one in reports if (one.link_uid, one.export) in {c[:2] for c in claims}]
        assert len(refused) >= len(claims) - served
