"""Exports that would lose all their endpoints because of one list."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from isthmus.core import dusk, link
from isthmus.core.dusk import Held
from isthmus.core.world import LinkView
from isthmus.model.exports import Export, NamedPod
from isthmus.model.objects import Endpoint, Key
from tests.support import builders, strategies
from tests.support.builders import by_service, endpoint, export, headless, view
from tests.support.model import Source

WEST = builders.link("west")
WEB, DB = Key("shop", "web"), Key("shop", "db")
SET = headless("db", "db-0", "db-1")
EMPTIED = replace(SET, pods=(), ready=False)
UNREADY = (NamedPod(hostname="db-0", ready=False),)


@pytest.mark.parametrize(
    "found, dark",
    [
        pytest.param(export(), False, id="ready"),
        pytest.param(export(ready=False), True, id="not ready"),
        pytest.param(SET, False, id="with named pods"),
        pytest.param(EMPTIED, True, id="a set without pods"),
        pytest.param(
            replace(SET, pods=UNREADY, ready=False), False, id="a pod that is not ready is there"
        ),
    ],
)
def test_an_export_is_dark_when_nothing_of_it_is_left(found: Export, dark: bool) -> None:
    assert dusk.is_dark(found) is dark


@pytest.mark.parametrize(
    "endpoints, lit",
    [
        pytest.param([], False, id="none"),
        pytest.param([endpoint("10.0.0.7")], True, id="ready"),
        pytest.param([endpoint("10.0.0.7", ready=None)], True, id="unknown counts as ready"),
        pytest.param([endpoint("10.0.0.7", ready=False)], False, id="not ready"),
        pytest.param([endpoint("10.0.0.7", "db-0", ready=False)], True, id="a name to lose"),
    ],
)
def test_a_mirror_is_lit_when_it_has_something_to_lose(
    endpoints: list[Endpoint], lit: bool
) -> None:
    assert dusk.is_lit(endpoints) is lit


def test_only_slices_that_stand_for_the_export_are_looked_at() -> None:
    local = Source()
    local.settle(view(WEST, export()))
    shown = by_service(local.slices.values())
    assert dusk.is_lit(dusk.shown(export(), WEST, shown))
    assert not dusk.shown(export("db"), WEST, shown)
    assert not dusk.shown(export(), builders.link("east"), shown)
    (one,) = shown[Key("shop", "web-west")]
    forged = replace(one, metadata=replace(one.metadata, annotations={}))
    assert not dusk.shown(export(), WEST, by_service([forged]))


@pytest.mark.parametrize("gateway_alive", [True, False])
def test_a_set_keeps_the_pods_that_its_mirror_shows(gateway_alive: bool) -> None:
    local = Source()
    some = replace(SET, pods=(NamedPod(hostname="db-0"), NamedPod(hostname="db-1", ready=False)))
    local.settle(view(WEST, some, gateway_alive=gateway_alive))
    shown = dusk.shown(EMPTIED, WEST, by_service(local.slices.values()))
    pods = dusk.named(shown, gateway_alive=gateway_alive)
    # A gateway that is dead makes everything unready; what was so before is not known then.
    expected = (NamedPod(hostname="db-0"), NamedPod(hostname="db-1", ready=not gateway_alive))
    assert dusk.kept(EMPTIED, pods) == replace(some, pods=expected)


@given(seen=strategies.views(WEST))
def test_exports_that_are_kept_leave_everything_as_it_is(seen: LinkView) -> None:
    local = Source()
    local.settle(seen)
    slices = by_service(local.slices.values())
    kept = {}
    for key, one in seen.exports.items():
        shown = dusk.shown(one, WEST, slices)
        emptied = replace(one, pods=(), ready=False)
        pods = dusk.named(shown, gateway_alive=seen.gateway_alive)
        kept[key] = dusk.kept(emptied, pods) if dusk.is_lit(shown) else one
    before = local.services.copy(), local.slices.copy()
    local.settle(view(WEST, *kept.values(), gateway_alive=seen.gateway_alive))
    assert (local.services, local.slices) == before


@pytest.mark.parametrize(
    "held, exports, confirmed",
    [
        pytest.param(Held(), [export()], True, id="nothing held"),
        pytest.param(Held(exports={WEB}), [export(ready=False)], True, id="dark both times"),
        pytest.param(Held(exports={WEB}), [export()], False, id="lit after all"),
        pytest.param(Held(exports={WEB}), [], True, id="gone altogether"),
        pytest.param(Held(exports={DB}), [SET], False, id="the pods are there after all"),
        pytest.param(
            Held(exports={WEB, DB}), [export(ready=False), SET], False, id="one of two is lit"
        ),
        pytest.param(Held(mirrors={Key("shop", "web-west")}), [export()], False, id="claimed"),
        pytest.param(Held(mirrors={Key("shop", "db-2-west")}), [SET], True, id="a pod is gone"),
        pytest.param(Held(mirrors={Key("shop", "db-1-west")}), [SET], False, id="a pod is not"),
    ],
)
def test_a_second_list_confirms_what_it_says_itself(
    held: Held, exports: list[Export], confirmed: bool
) -> None:
    assert held.is_confirmed(link.passing(exports, WEST), WEST) is confirmed


@pytest.mark.parametrize(
    "now, covered",
    [
        (Held({WEB}, {DB}), True),
        (Held(), True),
        (Held({WEB, DB}, {DB}), False),
        (Held({WEB}, {DB, WEB}), False),
    ],
)
def test_a_confirmation_counts_only_for_what_was_asked_about(now: Held, covered: bool) -> None:
    assert Held({WEB}, {DB}).covers(now) is covered
    assert bool(now) is bool(now.mirrors or now.exports)
