"""The bytes of a watch: any way of cutting them gives the same events."""

from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.kube.codec import Bad, decoded_page
from isthmus.kube.errors import Expired, Garbled, Unavailable, Unreachable
from isthmus.kube.resources import (
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    GRANTS,
    LINKS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
    Resource,
    untyped,
)
from isthmus.kube.watch import Bookmark, Failed, Seen, WatchDecoder, WatchEvent
from isthmus.model.objects import Key, Service
from isthmus.model.wire import JsonObject
from isthmus.runtime.cache import Gone, Put
from tests.support.scripted import bookmark, line, named, refusal

WEB = Key("shop", "web")
PLAIN = untyped("v1", "Service", "services", namespaced=True)
NAMELESS: tuple[JsonObject, ...] = (
    {},
    {"metadata": None},
    {"metadata": {"name": 7}},
    {"metadata": {}},
)


def decode(*chunks: bytes, cap: int = 1 << 20) -> list[WatchEvent[Service]]:
    decoder = WatchDecoder(SERVICES, "watch services", cap)
    found = [event for chunk in chunks for event in decoder.receive(chunk)]
    decoder.finish()
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


def test_additions_and_changes_put_an_object() -> None:
    added, changed = decode(line("ADDED", named("web", 5)) + line("MODIFIED", named("web", 6)))
    assert isinstance(added, Seen)
    assert isinstance(added.event, Put)
    assert (added.version, added.key) == ("5", WEB)
    assert isinstance(changed, Seen)
    assert changed.version == "6"


def test_a_deletion_names_a_key() -> None:
    assert decode(line("DELETED", named("web", 7))) == [Seen("7", WEB, Gone(WEB))]


def test_a_deletion_says_which_object_is_gone() -> None:
    gone = named("web", 7)
    gone["metadata"]["uid"] = "u1"
    readable, unreadable = decode(line("DELETED", gone), line("DELETED", gone | {"spec": 1}))
    assert readable == unreadable == Seen("7", WEB, Gone(WEB), "u1")


@pytest.mark.parametrize(
    "resource",
    [SERVICES, ENDPOINT_SLICES, NAMESPACES, SECRETS, CONFIG_MAPS, PODS, LINKS, GRANTS],
    ids=lambda one: one.plural,
)
def test_the_deletion_of_every_kind_that_is_watched_can_be_read(resource: Resource[object]) -> None:
    gone = named("web", 7)
    gone["metadata"]["uid"] = "u1"
    (found,) = WatchDecoder(resource, "watch", 1000).receive(line("DELETED", gone))
    assert found == Seen("7", WEB, Gone(WEB), "u1")


def test_bookmarks() -> None:
    found = decode(bookmark(8), bookmark(9, complete=True))
    assert found == [Bookmark("8"), Bookmark("9", complete=True)]


def test_a_bookmark_of_untyped_objects_is_one_too() -> None:
    links = untyped("isthmus.dev/v1alpha1", "Link", "links", namespaced=False)
    decoder = WatchDecoder(links, "watch links", 1000)
    assert list(decoder.receive(bookmark(8))) == [Bookmark("8")]


@pytest.mark.parametrize(
    "code, reason, expected",
    [
        pytest.param(410, "Expired", Expired, id="410"),
        pytest.param(500, "InternalError", Unavailable, id="500"),
        pytest.param(0, "", Garbled, id="nothing said"),
    ],
)
def test_an_error_event_becomes_the_error(code: int, reason: str, expected: type) -> None:
    (found,) = decode(line("ERROR", refusal(code, reason, "because")))
    assert isinstance(found, Failed)
    assert type(found.error) is expected


def test_an_unreadable_object_is_named_with_the_reason() -> None:
    (found,) = decode(line("ADDED", named("web", 5, spec={"ports": 7})))
    assert isinstance(found, Seen)
    assert isinstance(found.event, Bad)
    assert found.event.key == WEB
    assert "$.object.spec.ports" in found.event.reason


def test_the_deletion_of_an_unreadable_object_is_readable() -> None:
    found = decode(line("DELETED", named("web", 7, spec={"ports": 7})))
    assert found == [Seen("7", WEB, Gone(WEB))]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"<html>\n", id="HTML"),
        pytest.param(b"{}\n", id="an empty object"),
        pytest.param(b"[]\n", id="a list"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{}}}\n', id="no name"),
        pytest.param(line("ADDED", named("web", "")), id="no version"),
        pytest.param(line("RENAMED", named("web", 5)), id="an unknown type"),
        pytest.param(line("BOOKMARK", {"metadata": {}}), id="a bookmark without a version"),
        pytest.param(line("BOOKMARK", named("x", "")), id="a bookmark with an empty version"),
        pytest.param(line("ERROR", "no"), id="an error that is a word"),
        pytest.param(b'{"type":"ADDED","object":' + b"[" * 200_000 + b"\n", id="bottomless"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xfe"}}}\n',
                     id="not UTF-8"),
        pytest.param(b"x" * 5000 + b"\n", id="too long"),
        pytest.param(b"x" * 5000, id="too long, without an end"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(Garbled, match=r"^watch services: "):
        decode(data, cap=4000 if data.startswith(b"xx") else 1 << 20)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
@pytest.mark.parametrize("obj", NAMELESS)
def test_an_untyped_object_without_a_name_is_no_object(kind: str, obj: JsonObject) -> None:
    decoder = WatchDecoder(PLAIN, "watch services", 1000)
    with pytest.raises(Garbled, match="a line is no event"):
        list(decoder.receive(line(kind, obj)))


@pytest.mark.parametrize("obj", NAMELESS)
def test_an_untyped_object_without_a_name_spoils_a_list(obj: JsonObject) -> None:
    head = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
    with pytest.raises(Garbled, match="no usable list"):
        decoded_page(PLAIN, msgspec.json.encode({**head, "items": [obj]}), "list services")


def test_what_is_wrong_with_an_object_is_said_in_a_few_words() -> None:
    """However deep, and however long, the place is at which it is wrong."""
    deep = b'{"type":"ADDED","object":' + b"[" * 400 + b"1e999" + b"]" * 400 + b"}\n"
    with pytest.raises(Garbled) as refused:
        decode(deep, cap=1 << 20)
    assert len(str(refused.value)) < 400


def test_events_before_nonsense_still_count() -> None:
    decoder = WatchDecoder(SERVICES, "watch services", 1000)
    events = decoder.receive(line("DELETED", named("web", 7)) + b"nonsense\n")
    assert next(events) == Seen("7", WEB, Gone(WEB))
    with pytest.raises(Garbled):
        next(events)


def test_a_stream_that_ends_within_a_line_has_broken_off() -> None:
    with pytest.raises(Unreachable, match="middle of a line"):
        decode(line("ADDED", named("web", 5))[:-1])


STREAMS = st.lists(
    st.one_of(
        st.builds(
            lambda kind, name, version: line(kind, named(name, version)),
            st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
            st.text(min_size=1, max_size=8),
            st.integers(1, 99),
        ),
        st.builds(bookmark, st.integers(1, 99), complete=st.booleans()),
        st.just(b"\n"),
    ),
    max_size=8,
).map(b"".join)


@given(data=STREAMS, places=st.lists(st.integers(0, 10_000), max_size=12))
def test_any_chunking_gives_the_same_events(data: bytes, places: list[int]) -> None:
    assert decode(*cut(data, places)) == decode(data)


@given(data=st.binary(max_size=400), places=st.lists(st.integers(0, 400), max_size=12))
def test_any_bytes_are_events_or_refused(data: bytes, places: list[int]) -> None:
    with suppress(Garbled, Unreachable):
        decode(*cut(data, places))
