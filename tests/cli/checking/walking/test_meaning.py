"""What people type, and what they mean by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.checking.walking import meaning
from isthmus.cli.checking.walking.meaning import Meaning, Typed, Unclear, typed
from isthmus.model.links import Link
from isthmus.model.objects import Key
from tests.cli.checking.worlds import mirrored, web
from tests.support.builders import endpoint, export, link, service, slice_of
from tests.support.strategies import NAMES

WEST, NORTH = link("west"), link("north")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("web", Typed("web", "shop")),
        ("web-west", Typed("web-west", "shop")),
        ("web-0.web-west", Typed("web-west", "shop", "web-0")),
        ("web-west.other.svc", Typed("web-west", "other")),
        ("web-west.other.svc.east.cluster.local", Typed("web-west", "other")),
        ("web-0.web-west.other.svc.cluster.local.", Typed("web-west", "other", "web-0")),
        ("http://web-west.other.svc:8080/a/b", Typed("web-west", "other")),
        ("https://web-0.web-west", Typed("web-west", "shop", "web-0")),
        ("WEB-West", Typed("web-west", "shop")),
        ("svc", Typed("svc", "shop")),
        ("svc.svc", Typed("svc", "shop", "svc")),
    ],
)
def test_a_name_is_taken_apart(text: str, expected: Typed) -> None:
    assert typed(text, "shop") == expected


@pytest.mark.parametrize("text", ["", "a.b.c", "a.b.c.d.svc", "web_west", "-", "a..b", "http://"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(Unclear):
        typed(text, "shop")


def test_a_mirror_says_itself_what_it_stands_for() -> None:
    made, _ = mirrored(web(), (slice_of("web", endpoint("10.2.0.1")),), WEST)
    assert meaning.stands_for(made) == Meaning("west", Key("shop", "web"))
    assert meaning.stands_for(service("web-west")) is None


@pytest.mark.parametrize(
    "name, links, to, expected",
    [
        pytest.param("web", (WEST,), "", WEST, id="the only one"),
        pytest.param("web-west", (NORTH, WEST), "", WEST, id="whose mirror it would be"),
        pytest.param("web", (NORTH, WEST), "west", WEST, id="named"),
        pytest.param("web", (NORTH,), "west", None, id="missing"),
        pytest.param("web", (), "", None, id="none at all"),
    ],
)
def test_which_link_is_meant(
    name: str, links: tuple[Link, ...], to: str, expected: Link | None
) -> None:
    assert meaning.linked(name, links, to) == expected


def test_a_name_that_may_be_of_several_links_has_to_be_said_more_precisely() -> None:
    with pytest.raises(Unclear, match="north, west"):
        meaning.linked("web", (NORTH, WEST), "")


@given(
    name=NAMES,
    cluster=NAMES,
    naming=st.sampled_from(
        ["{service}-{cluster}", "{cluster}-{service}", "x-{service}", "{service}{cluster}"]
    ),
)
def test_whoever_types_a_mirror_means_its_export(name: str, cluster: str, naming: str) -> None:
    to = link(cluster, naming=naming)
    mirror, stand_in = meaning.local(Key("shop", name), "", to, cluster)
    assert mirror == stand_in
    if len(naming) + len(name) + len(cluster) < 60:  # longer names are cut, and looked up
        assert name in meaning.candidates(mirror.name, to, cluster)


@pytest.mark.parametrize(
    "name, cluster, expected",
    [
        pytest.param("web-west", "west", ("web", "web-west"), id="a mirror, most likely"),
        pytest.param("web", "west", ("web",), id="an export"),
        pytest.param("web-north", "west", ("web-north",), id="nothing of that cluster"),
        pytest.param("web-west", "", ("web-west",), id="of nobody knows whom"),
        pytest.param("-west", "west", ("-west",), id="nothing else"),
    ],
)
def test_without_a_link_a_name_may_be_that_of_a_mirror_all_the_same(
    name: str, cluster: str, expected: tuple[str, ...]
) -> None:
    assert meaning.candidates(name, None, cluster) == expected


def test_a_pod_has_a_stand_in_of_its_own_if_the_link_mirrors_sets() -> None:
    key = export("web").key
    assert meaning.local(key, "web-0", WEST, "west") == (
        Key("shop", "web-west"),
        Key("shop", "web-0-west"),
    )
    plain = link("west", enable_headless_services=False)
    assert meaning.local(key, "web-0", plain, "west")[1] == Key("shop", "web-west")
    assert meaning.local(key, "", None, "west")[0] == Key("shop", "web-west")
