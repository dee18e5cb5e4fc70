"""From the first export to the last: namespaces, links that come, go and fall silent."""

import random

import pytest
from msgspec.structs import replace

from isthmus.core import link as links
from isthmus.core.world import LinkView
from isthmus.model import names
from isthmus.model.actions import Action, Create, Delete, Report
from isthmus.model.exports import Export
from isthmus.model.links import Limits, Link
from isthmus.model.objects import Key, Namespace, Service
from isthmus.model.selectors import Requirement, Selector
from tests.support.builders import EXPORT_LABEL, export, headless, link, namespace, service, view
from tests.support.model import Source

WEST = link("west")
WEB = Key("shop", "web-west")


def reasons(done: list[Action]) -> list[str]:
    return [one.reason for one in done if isinstance(one, Report)]


def writes(done: list[Action]) -> list[Action]:
    return [one for one in done if not isinstance(one, Report)]


def mirrored(*views: LinkView) -> Source:
    local = Source()
    assert local.settle(*views) == []
    return local


# Namespaces


def test_without_its_namespace_an_export_waits() -> None:
    local = Source(namespaces={})
    done = local.settle(view(WEST, export()))
    assert (reasons(done), writes(done)) == (["NamespaceMissing"], [])
    local.namespaces["shop"] = namespace("shop")
    assert local.settle(view(WEST, export())) == []
    assert list(local.services) == [WEB]


def test_nothing_is_written_into_a_namespace_that_is_being_deleted() -> None:
    local = mirrored(view(WEST, export()))
    local.namespaces["shop"] = namespace("shop", terminating=True)
    for exports in ([export(annotations={"note": "x"}), export("more")], []):
        done = local.round(view(WEST, *exports))
        assert (reasons(done), writes(done)) == (["NamespaceTerminating"] * len(exports), [])


def test_a_namespace_that_was_recreated_gets_its_mirrors_back() -> None:
    local = mirrored(view(WEST, export()))
    local.services.clear()
    local.slices.clear()
    assert local.settle(view(WEST, export())) == []
    assert list(local.services) == [WEB]


def test_a_link_may_create_namespaces() -> None:
    local = Source(namespaces={})
    creating = view(link("west", create_namespaces=True), export(), export("more"))
    done = local.round(creating)
    made = [one.object for one in done if isinstance(one, Create)]
    spaces = [one.metadata for one in made if isinstance(one, Namespace)]
    assert [(one.name, one.labels) for one in spaces] == [
        ("shop", {names.CREATED_NAMESPACE: "west"})
    ]
    assert isinstance(made[0], Namespace), "the namespace comes first"
    assert local.settle(creating) == []


@pytest.mark.parametrize("create", [False, True], ids=["as it is", "even if it may create"])
@pytest.mark.parametrize("protected", ["kube-system", "kube-public", "kube-node-lease", "isthmus"])
def test_protected_namespaces_get_no_mirrors(protected: str, create: bool) -> None:
    local = Source(namespaces={} if create else {protected: namespace(protected)})
    to = link("west", create_namespaces=create)
    done = local.settle(view(to, export("kube-dns", protected)))
    assert (reasons(done), writes(done)) == (["NamespaceProtected"], [])


def test_unless_the_link_allows_it() -> None:
    local = Source(namespaces={"kube-system": namespace("kube-system")})
    to = link("west", allowed_namespaces=("kube-system",))
    assert local.settle(view(to, export("dns", "kube-system"))) == []
    done = local.settle(view(WEST, export("dns", "kube-system")))
    assert reasons(done) == ["NamespaceProtected"]
    assert not local.services, "a permission that is taken back takes the mirror along"


def test_the_service_of_the_api_server_is_never_made_by_us() -> None:
    local = Source(namespaces={"default": namespace("default")})
    plain = link("west", naming="{service}")
    done = local.settle(view(plain, export("kubernetes", "default")))
    assert (reasons(done), local.services) == (["NameProtected"], {})


# Which exports pass


@pytest.mark.parametrize(
    "selector, passes",
    [
        pytest.param(link().spec.selector, True, id="the one by default"),
        pytest.param(Selector(), False, id="an empty one: nothing"),
        pytest.param(Selector(match_labels={"team": "a"}), False, id="another label"),
        pytest.param(
            Selector(match_expressions=(Requirement(key=names.EXPORTED, operator="Exists"),)),
            True,
            id="an expression",
        ),
    ],
)
def test_the_links_selector_decides(selector: Selector, passes: bool) -> None:
    seen = view(link("west", selector=selector), export())
    assert bool(seen.exports) is passes


def test_a_label_that_is_removed_takes_the_mirror_along() -> None:
    local = mirrored(view(WEST, export()))
    done = local.round(view(WEST, export(labels={})))
    assert [type(one) for one in done] == [Delete, Delete]
    assert not local.services
    assert local.settle(view(WEST, export(labels=EXPORT_LABEL))) == []
    assert list(local.services) == [WEB]


def test_beyond_the_limit_the_oldest_exports_are_kept() -> None:
    few = link("west", limits=Limits(services=2))
    old = [export("x", created="2026-01-01"), export("y", created="2026-01-02")]
    flood = [export(f"a-{one}", created="2026-01-03") for one in range(20)]
    random.Random(1).shuffle(flood)
    assert links.passing([*flood, *old], few).keys() == {one.key for one in old}


# Links that fall silent, and links that go


BLIND = {"synced": False}
HELD = {"deletions_held": True}


@pytest.mark.parametrize("known", [BLIND, HELD], ids=["not synced", "held by the guard"])
def test_absence_is_not_a_delete(known: dict[str, bool]) -> None:
    local = mirrored(view(WEST, export(), headless("db", "db-0")))
    assert local.round(view(WEST, **known)) == []
    assert len(local.services) == 3


@pytest.mark.parametrize("known", [BLIND, HELD], ids=["not synced", "held by the guard"])
def test_orphaned_slices_stay_as_long_as_their_mirror_would(known: dict[str, bool]) -> None:
    local = mirrored(view(WEST, export()))
    local.remove(local.services[WEB])
    assert local.round(view(WEST, **known)) == []
    assert [type(one) for one in local.round(view(WEST))] == [Delete]


@pytest.mark.parametrize("known", [BLIND, HELD], ids=["not synced", "held by the guard"])
def test_what_is_in_sight_is_kept_up_all_the_same(known: dict[str, bool]) -> None:
    local = mirrored(view(WEST, export()))
    local.remove(local.services[WEB])
    local.settle(view(WEST, export(annotations={"note": "x"}), **known))
    assert local.services[WEB].metadata.annotations["note"] == "x"


@pytest.mark.parametrize("known", [BLIND, HELD], ids=["not synced", "held by the guard"])
@pytest.mark.parametrize(
    "rival",
    [
        pytest.param(link("west", naming="{service}-west"), id="of the same link"),
        pytest.param(
            link("west-side", "2025-01-01T00:00:00Z", naming="{service}-west"),
            id="of an older link",
        ),
    ],
)
def test_nobody_takes_the_name_of_a_mirror_that_may_not_be_deleted(
    known: dict[str, bool], rival: Link
) -> None:
    """After a restart nothing is known yet of a target that cannot be reached."""
    local = mirrored(view(WEST, headless("db", "web")))
    before = local.services[WEB]
    if rival.uid == WEST.uid:
        done = local.settle(view(rival, export("web"), **known))
    else:
        done = local.settle(view(WEST, **known), view(rival, export("web")))
    assert reasons(done) == ["NameTaken"]
    assert local.services[WEB] == before


def test_a_name_is_taken_over_once_its_owner_is_known_to_need_it_no_more() -> None:
    rival = link("west-side", naming="{service}-west")
    local = mirrored(view(WEST, export()))
    assert local.settle(view(WEST), view(rival, export())) == []
    assert local.services[WEB].metadata.annotations[names.LINK_UID] == rival.uid
    assert {one.metadata.annotations[names.LINK_UID] for one in local.slices.values()} == {
        rival.uid
    }


def test_a_link_that_goes_takes_its_mirrors_and_nothing_else() -> None:
    east = link("east")
    foreign = service("theirs")
    local = mirrored(view(WEST, export(), headless("db", "db-0")), view(east, export()))
    local.edit(foreign)
    kept = {key: one for key, one in local.services.items() if "west" not in key.name}
    local.settle(view(WEST), view(east, export()))
    assert local.services == kept
    assert [key.name for key in local.slices] == ["web-east-ipv4"]


def test_what_an_unknown_link_made_is_left_alone() -> None:
    local = mirrored(view(WEST, export()))
    services, slices = dict(local.services), dict(local.slices)
    assert local.round() == []
    assert local.round(view(link("east"))) == []
    assert (local.services, local.slices) == (services, slices)


def test_slices_go_before_their_service() -> None:
    local = mirrored(view(WEST, export()))
    done = local.round(view(WEST))
    assert [isinstance(one.object, Service) for one in done if isinstance(one, Delete)] == [
        False,
        True,
    ]


# Several links


def test_two_links_mirror_the_same_export_side_by_side() -> None:
    local = mirrored(view(WEST, export()), view(link("east"), export()))
    assert {key.name for key in local.services} == {"web-west", "web-east"}


@pytest.mark.parametrize(
    "ages, winner",
    [
        pytest.param(("2026-01-01", "2026-01-02"), "link-a", id="the older link"),
        pytest.param(("2026-01-02", "2026-01-01"), "link-b", id="whatever their names"),
        pytest.param(("2026-01-01", "2026-01-01"), "link-a", id="then by UID"),
    ],
)
@pytest.mark.parametrize("order", [1, -1], ids=["as they come", "in reverse"])
def test_a_new_name_goes_to_the_oldest_link(ages: tuple[str, str], winner: str, order: int) -> None:
    a, b = (
        view(link(name, f"{age}T00:00:00Z", naming="{service}-x"), export())
        for name, age in zip("ab", ages, strict=True)
    )
    local = Source()
    done = local.settle(*(a, b)[::order])
    (found,) = local.services.values()
    assert found.metadata.annotations[names.LINK_UID] == winner
    assert reasons(done) == ["NameTaken"]


def test_who_has_a_name_keeps_it_over_a_thousand_resyncs() -> None:
    plain = [
        link(name, f"2026-01-0{one}T00:00:00Z", naming="{service}-x")
        for one, name in enumerate("abc", 1)
    ]
    views = [view(to, export(), headless("db", "web")) for to in plain]
    local = mirrored(view(plain[2], export()))
    local.settle(*views)
    before, dice = dict(local.services), random.Random(7)
    for _ in range(1000):
        dice.shuffle(views)
        assert writes(local.round(*views)) == []
    assert local.services == before
    owner = before[Key("shop", "web-x")].metadata.annotations[names.LINK_UID]
    assert owner == "link-c", "the youngest, but it was there first"


def test_a_change_of_the_links_age_moves_nothing() -> None:
    a, b = (view(link(name, naming="{service}-x"), export()) for name in "ab")
    local = mirrored(b)
    older = LinkView(
        link=replace(a.link, metadata=replace(a.link.metadata, creation_timestamp="1")),
        exports=a.exports,
        synced=True,
    )
    assert writes(local.settle(older, b)) == []


def test_a_refused_export_says_so_for_as_long_as_it_lasts() -> None:
    local = Source(services={WEB: service("web-west")})
    for _ in range(3):
        (report,) = local.round(view(WEST, export()))
        assert report == Report(
            "link-west",
            Key("shop", "web"),
            "NameTaken",
            "shop/web-west exists and is not the mirror of this export",
        )


def exports_of(count: int) -> list[Export]:
    return [export(f"web-{one}") for one in range(count)]


def test_one_bad_export_does_not_stop_the_others() -> None:
    bad = [export("1bad"), export("x", "no-such-namespace"), export("dns", "kube-system")]
    local = Source(namespaces={"shop": namespace("shop"), "kube-system": namespace("kube-system")})
    done = local.settle(view(WEST, *bad, *exports_of(5)))
    assert sorted(reasons(done)) == ["InvalidName", "NamespaceMissing", "NamespaceProtected"]
    assert len(local.services) == 5
