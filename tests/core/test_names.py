"""What mirrors are called: within the limits of DNS, the same every time, and never by parsing."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.core import naming
from isthmus.model import names, syntax
from isthmus.model.actions import Report
from isthmus.model.exports import Export
from isthmus.model.objects import Key
from tests.support.builders import export, headless, link, view
from tests.support.model import Source

WEST = link("west")
LABELS = st.from_regex(syntax.SERVICE_NAME, fullmatch=True)


@pytest.mark.parametrize(
    "name, expected",
    [
        pytest.param("web", "web-west", id="short"),
        pytest.param("w" * 58, "w" * 58 + "-west", id="exactly 63 with the suffix"),
        pytest.param("w" * 59, "w" * 54 + "-fb7c34b0", id="64 with the suffix: cut and hashed"),
        pytest.param("w" * 63, "w" * 54 + "-b9a5cb39", id="63 without the suffix"),
        pytest.param(
            "w" * 53 + "-" * 8 + "x", "w" * 53 + "-4fd1e627", id="no two dashes where it is cut"
        ),
    ],
)
def test_a_mirror_is_called_after_the_export_and_the_cluster(name: str, expected: str) -> None:
    assert naming.mirror_name(export(name), WEST) == expected
    assert syntax.is_service_name(expected)


@pytest.mark.parametrize(
    "name, hostname, expected",
    [
        pytest.param("nginx-svc", "nginx-set-0", "nginx-set-0-west", id="short"),
        pytest.param("nginx-svc", "h" * 63, "h" * 54 + "-168794b5", id="cut and hashed"),
    ],
)
def test_an_endpoint_mirror_is_called_after_its_pod(
    name: str, hostname: str, expected: str
) -> None:
    assert naming.endpoint_mirror_name(headless(name, hostname), hostname, WEST) == expected


@pytest.mark.parametrize(
    "pattern, expected",
    [
        pytest.param("{service}-{cluster}", "web-west", id="as ever"),
        pytest.param("{cluster}-{service}", "west-web", id="the other way round"),
        pytest.param("{service}", "web", id="without the cluster"),
        pytest.param("x-{service}-{cluster}-{service}", "x-web-west-web", id="twice"),
        pytest.param("{service.uid}-{0}", "{service.uid}-{0}", id="no other fields"),
    ],
)
def test_the_link_says_how_mirrors_are_called(pattern: str, expected: str) -> None:
    assert naming.mirror_name(export("web"), link("west", naming=pattern)) == expected


@pytest.mark.parametrize(
    "one, other",
    [
        pytest.param(export("w" * 62 + "a"), export("w" * 62 + "b"), id="the names differ late"),
        pytest.param(
            export("w" * 63, "shop"), export("w" * 63, "bank"), id="the namespaces differ"
        ),
    ],
)
def test_names_that_are_cut_stay_different(one: Export, other: Export) -> None:
    assert naming.mirror_name(one, WEST) != naming.mirror_name(other, WEST)


def test_the_link_is_part_of_the_hash() -> None:
    long = export("w" * 63)
    assert naming.mirror_name(long, link("west")) != naming.mirror_name(long, link("wesu"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("---", id="only dashes"),
        pytest.param("-" * 64, id="only dashes, cut"),
        pytest.param("1web", id="a leading digit"),
        pytest.param("b\u00fccher", id="not ASCII"),
        pytest.param("web.", id="a trailing dot"),
        pytest.param("../x", id="a path"),
        pytest.param("WEB", id="upper case"),
    ],
)
def test_a_name_that_no_service_can_have_is_refused(name: str) -> None:
    local = Source()
    done = local.settle(view(WEST, export(name)))
    assert [one.reason for one in done if isinstance(one, Report)] == ["InvalidName"]
    assert not local.services


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("w" * 64, id="64 characters"),
        pytest.param("a.b", id="a dot"),
        pytest.param("..", id="dots"),
        pytest.param("a/b", id="a slash"),
        pytest.param("West", id="upper case"),
        pytest.param("\U0001f30d", id="an emoji"),
    ],
)
def test_a_link_whose_name_is_not_a_cluster_makes_nothing(cluster: str) -> None:
    local = Source()
    done = local.settle(view(link(cluster, naming="{service}"), export("web")))
    assert [one.reason for one in done if isinstance(one, Report)] == ["InvalidLink"]
    assert not local.services


def test_one_name_of_two_meanings_has_one_owner_for_ever() -> None:
    """``foo`` of ``east-west`` and ``foo-east`` of ``west`` would both be ``foo-east-west``."""
    older = view(link("east-west", "2026-01-01T00:00:00Z"), export("foo"))
    newer = view(link("west", "2026-01-02T00:00:00Z"), export("foo-east"))
    local = Source()
    local.settle(newer)  # it was there first
    before = dict(local.services)
    for _ in range(1000):  # resyncs and restarts are the same thing here: nothing is remembered
        (report,) = local.round(older, newer)
        assert isinstance(report, Report)
        assert (report.link_uid, report.reason) == ("link-east-west", "NameTaken")
    assert local.services == before


def test_two_cut_names_with_the_same_hash_are_a_clash_like_any_other() -> None:
    one, other = colliding_names()
    first, second = export(one), export(other)
    assert naming.mirror_name(first, WEST) == naming.mirror_name(second, WEST)
    local = Source()
    (report,) = local.settle(view(WEST, first, second))
    assert isinstance(report, Report)
    assert report.reason == "NameTaken"
    (mirror,) = local.services.values()
    kept = min(one, other)
    assert mirror.metadata.annotations[names.REMOTE_UID] == f"uid-of-{kept}"
    assert report.export == Key("shop", max(one, other))


def colliding_names() -> tuple[str, str]:
    """Two names of 63 characters that are cut to the same one: some 80,000 tries find them."""
    seen: dict[str, str] = {}
    for number in count():
        name = f"{'w' * 54}{number:09d}"
        short = naming.mirror_name(export(name), WEST)
        if short in seen:
            return seen[short], name
        seen[short] = name
    raise AssertionError("unreachable: the numbers do not end")


@given(services=st.sets(LABELS, min_size=2, max_size=2), cluster=LABELS)
@settings(max_examples=50)
def test_different_exports_of_a_link_have_different_names(services: set[str], cluster: str) -> None:
    one, other = (naming.mirror_name(export(name), link(cluster)) for name in services)
    assert one != other


@given(service=LABELS, namespace=LABELS, cluster=LABELS)
@settings(max_examples=50)
def test_every_name_is_a_valid_one_and_the_same_every_time(
    service: str, namespace: str, cluster: str
) -> None:
    name = naming.mirror_name(export(service, namespace), link(cluster))
    assert syntax.is_service_name(name)
    assert name == naming.mirror_name(export(service, namespace), link(cluster))


def test_what_a_mirror_stands_for_is_written_on_it_in_full() -> None:
    local = Source()
    local.settle(view(WEST, export("w" * 63)))
    (mirror,) = local.services.values()
    full = f"{'w' * 63}.shop.svc.west.cluster.local"
    assert mirror.metadata.annotations[names.REMOTE_NAME] == full
