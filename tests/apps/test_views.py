"""Whatever happens to slices and namespaces, views say what their caches hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.apps.controller.views import by_name, by_service
from isthmus.model.objects import EndpointSlice, Key, Metadata, Namespace, service_of
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put
from tests.support.builders import labelled


def cached(*there: EndpointSlice) -> Cache[Key, EndpointSlice]:
    cache: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
    cache.fold(Listed(there))
    return cache


WEB, DB = Key("shop", "web"), Key("shop", "db")
A, A_ANEW = labelled("a", "web"), labelled("a", "web", family="IPv6")
A_AGAIN, A_OF_DB, A_LOOSE = labelled("a", "web"), labelled("a", "db"), labelled("a")
B, B_AGAIN = labelled("b", "web"), labelled("b", "web")
OTHERS = labelled("a", "web", namespace="other")
A_GONE: Gone[Key] = Gone(A.metadata.key)


@pytest.mark.parametrize(
    "events, found",
    [
        pytest.param([Put(A_ANEW)], {WEB: [A_ANEW, B]}, id="one changes, and keeps its place"),
        pytest.param([Put(A_OF_DB)], {DB: [A_OF_DB], WEB: [B]}, id="one moves to another Service"),
        pytest.param([Put(A_LOOSE)], {WEB: [B]}, id="one belongs to no Service any more"),
        pytest.param([A_GONE], {WEB: [B]}, id="one is gone"),
        pytest.param([Gone(Key("shop", "c"))], {WEB: [A, B]}, id="one is gone that was not there"),
        pytest.param([Listed(())], {}, id="all are gone"),
        pytest.param([Listed((B, A))], {WEB: [A, B]}, id="the same in another order"),
        pytest.param([Put(A_AGAIN), A_GONE], {WEB: [B]}, id="told twice, and gone"),
        pytest.param(
            [Listed((A_AGAIN, B_AGAIN)), Put(A_ANEW)], {WEB: [A_ANEW, B]}, id="listed, and changed"
        ),
        pytest.param(
            [Listed((B,), frozenset({A.metadata.key}))], {WEB: [A, B]}, id="one cannot be read"
        ),
        pytest.param(
            [Put(OTHERS)], {WEB: [A, B], Key("other", "web"): [OTHERS]}, id="of another namespace"
        ),
    ],
)
def test_slices_are_found_by_their_service(
    events: list[Event[Key, EndpointSlice]], found: dict[Key, list[EndpointSlice]]
) -> None:
    cache = cached(A, B)
    view = by_service(cache)
    for event in events:
        cache.fold(event)
    assert view == found


def test_what_is_found_is_what_the_cache_holds() -> None:
    """What it holds no longer must not be kept by anybody."""
    cache = cached(A)
    view = by_service(cache)
    cache.fold(Listed((A_AGAIN,)))
    assert view[WEB][0] is A_AGAIN


SLICES = st.builds(
    labelled,
    st.sampled_from("abc"),
    st.sampled_from(("web", "db", "")),
    family=st.sampled_from(("IPv4", "IPv6")),
)
EVENTS: st.SearchStrategy[Event[Key, EndpointSlice]] = st.one_of(
    SLICES.map(Put),
    st.sampled_from("abc").map(lambda name: Gone(Key("shop", name))),
    st.lists(SLICES, unique_by=lambda one: one.metadata.name).map(lambda all_: Listed(tuple(all_))),
)


@given(st.lists(EVENTS))
def test_slices_by_service_are_those_that_the_cache_has(
    events: list[Event[Key, EndpointSlice]],
) -> None:
    cache = cached()
    view = by_service(cache)
    for event in events:
        cache.fold(event)
        there: dict[Key, list[EndpointSlice]] = {}
        for key in sorted(cache.objects):
            for service in service_of(cache.objects[key]):
                there.setdefault(service, []).append(cache.objects[key])
        assert view == there


def test_namespaces_are_found_by_their_names() -> None:
    cache: Cache[Key, Namespace] = Cache(lambda one: one.metadata.key)
    shop, anew = (Namespace(metadata=Metadata(name="shop", uid=uid)) for uid in "ab")
    cache.fold(Put(shop))
    view = by_name(cache)
    assert view == {"shop": shop}, "what was there before"
    cache.fold(Put(anew))
    assert view == {"shop": anew}, "another one of that name"
    cache.fold(Gone(Key("", "bank")))
    assert view == {"shop": anew}, "one is gone that was not there"
    cache.fold(Gone(Key("", "shop")))
    assert view == {}
