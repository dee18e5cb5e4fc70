"""The promises of the planner, for all worlds."""

from hypothesis import given

from isthmus.core.world import LinkView
from isthmus.model.actions import Create, Delete, Report, Update
from isthmus.model.names import MIRRORED
from isthmus.model.objects import Service
from tests.support.builders import namespace, view
from tests.support.model import Source
from tests.support.strategies import LINKS, foreign_services, targets

Views = tuple[LinkView, ...]


def source(foreign: list[Service]) -> Source:
    return Source(
        services={one.metadata.key: one for one in foreign},
        namespaces={name: namespace(name) for name in ("shop", "bank")},
    )


@given(before=targets(), after=targets(), foreign=foreign_services())
def test_any_change_settles_within_two_rounds_and_then_costs_nothing(
    before: Views, after: Views, foreign: list[Service]
) -> None:
    local = source(foreign)
    for views in (before, after):
        local.round(*views)
        local.round(*views)
        assert [action for action in local.round(*views) if not isinstance(action, Report)] == []


@given(before=targets(), after=targets(), foreign=foreign_services())
def test_what_is_not_ours_is_never_touched(
    before: Views, after: Views, foreign: list[Service]
) -> None:
    local = source(foreign)
    for views in (before, after, (view(LINKS[0]), view(LINKS[1]))):
        for action in (*local.round(*views), *local.round(*views)):
            if isinstance(action, (Create, Update, Delete)):
                assert action.object.metadata.labels.get(MIRRORED) == "true"
        assert all(local.services[one.metadata.key] == one for one in foreign)


@given(before=targets(), foreign=foreign_services())
def test_an_empty_target_leaves_nothing_behind(before: Views, foreign: list[Service]) -> None:
    local = source(foreign)
    empty = (view(LINKS[0]), view(LINKS[1]))
    for views in (before, before, empty, empty):
        local.round(*views)
    assert list(local.services.values()) == foreign
    assert not local.slices


@given(before=targets(), after=targets())
def test_nothing_is_deleted_for_a_link_that_is_not_synced(before: Views, after: Views) -> None:
    local = source([])
    local.round(*before)
    local.round(*before)
    blind = tuple(view(one.link, *one.exports.values(), synced=False) for one in after)
    kept = {one.metadata.key for one in local.services.values()}
    for action in local.round(*blind):
        if isinstance(action, Delete) and isinstance(action.object, Service):
            # Only a change of shape may replace a Service, and that needs an export in sight.
            assert action.object.metadata.key in kept


@given(views=targets(), foreign=foreign_services())
def test_the_order_of_arrival_does_not_matter_once_all_is_settled(
    views: Views, foreign: list[Service]
) -> None:
    first, second = source(foreign), source(foreign)
    for _ in range(2):
        first.round(*views)
        second.round(*reversed(views))
    assert first.services.keys() == second.services.keys()
    assert first.slices.keys() == second.slices.keys()
