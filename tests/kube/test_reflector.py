"""What the reflector makes of everything that can happen between it and a server."""

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isthmus.kube.client import Client
from isthmus.kube.codec import Page
from isthmus.kube.errors import Expired, Forbidden, Garbled, Rejected, Throttled, Unreachable
from isthmus.kube.exchange import Limits
from isthmus.kube.pinned import IdentityChanged
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import NAMED, Reflector, State
from isthmus.kube.resources import SERVICES
from isthmus.kube.steps import Audit, List, Stream, Wait, Watch
from isthmus.kube.watch import Bookmark
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key, Metadata, Service
from isthmus.model.wire import JsonObject
from isthmus.runtime.cache import Cache, Event, Gone, Listed
from tests.support.embedded import cluster
from tests.support.scripted import (
    Breaks,
    Says,
    Script,
    bookmark,
    line,
    listing,
    named,
    refusal,
    refuses,
    says,
    stream,
)

A, B, C = named("a", 5), named("b", 6), named("c", 9)
INITIAL = (line("ADDED", A), line("ADDED", B), bookmark(7, complete=True))
SERVICE = Service(metadata=Metadata(name="z", namespace="shop", resource_version="3"))
NO_STREAMS = refuses(422, "Invalid", "sendInitialEvents is forbidden")
GONE = refusal(410, "Expired", "too old resource version: 7 (9)")


@dataclass
class Told:
    """What came of a script."""

    script: Script
    reflector: Reflector[Service]
    events: list[str]
    names: set[str]
    states: list[State]

    @property
    def asked(self) -> list[str]:
        return self.script.asked


def in_short(event: Event[Key, Service]) -> str:
    match event:
        case Listed(objects, unreadable):
            names = [f"{one.metadata.name}@{one.metadata.resource_version}" for one in objects]
            return " ".join(["=", *names, *(f"?{key.name}" for key in sorted(unreadable))])
        case Gone(key):
            return f"-{key.name}"
        case _:
            metadata = event.object.metadata
            return f"+{metadata.name}@{metadata.resource_version}"


async def tell(*answers: Says | Breaks, seconds: float = 30, streaming: bool = True) -> Told:
    """Let a reflector live through ``answers`` for so many seconds of virtual time."""
    script = Script(*answers)
    client = Client(script, random=Random(7))
    states: list[State] = []
    reflector = Reflector[Service](Random(7), streaming=streaming, changed=states.append)
    cache = Cache[Key, Service](lambda one: one.metadata.key)
    events: list[str] = []

    def emit(event: Event[Key, Service]) -> None:
        events.append(in_short(event))
        cache.fold(event)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await reflect(Source(client, SERVICES), reflector, emit)
    names = {key.name for key in cache.objects}
    return Told(script, reflector, events, names, states)


async def test_a_stream_becomes_one_snapshot_and_then_changes() -> None:
    changed = line("MODIFIED", named("a", 8))
    told = await tell(stream(*INITIAL, changed, line("DELETED", named("b", 9))))
    assert told.events == ["= a@5 b@6", "+a@8", "-b"]
    assert told.asked == ["stream"]
    assert told.states == [State.SYNCING, State.SYNCED]


async def test_nothing_is_emitted_while_the_initial_state_is_incomplete() -> None:
    told = await tell(stream(line("ADDED", A), line("ADDED", B)))
    assert told.events == []
    assert told.reflector.state is State.SYNCING


async def test_a_stream_that_ends_too_early_is_no_snapshot() -> None:
    told = await tell(stream(line("ADDED", A), stays=False), listing(7, A, B))
    assert told.events == ["= a@5 b@6"]
    assert told.asked == ["stream", "list", "watch 7"]


async def test_a_change_during_the_initial_state_is_part_of_the_snapshot() -> None:
    late = (line("MODIFIED", named("a", 8)), line("DELETED", named("b", 9)))
    told = await tell(stream(*INITIAL[:2], *late, bookmark(9, complete=True)))
    assert told.events == ["= a@8"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(NO_STREAMS, id="refused"),
        pytest.param(
            stream(line("ERROR", refusal(500, "InternalError", "RequestWatchProgress disabled"))),
            id="accepted, then an error inside the stream",
        ),
        pytest.param(stream(line("ADDED", [])), id="something else than events"),
    ],
)
async def test_a_server_without_streams_is_listed_at_once(answer: Says) -> None:
    told = await tell(answer, listing(7, A, B), stream(line("ADDED", C)))
    assert told.events == ["= a@5 b@6", "+c@9"]
    assert told.asked == ["stream", "list", "watch 7"]
    assert told.script.times[1] == told.script.times[0]


async def test_a_stream_that_never_says_where_its_initial_state_ends_is_given_up() -> None:
    chatter: list[bytes | float] = []
    for _ in range(10):
        chatter += [20.0, line("MODIFIED", A)]
    told = await tell(stream(*chatter), listing(7, A), seconds=150)
    assert told.events == ["= a@5"]
    assert told.asked == ["stream", "list", "watch 7"]


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param(says(GONE, 410), id="as status"),
        pytest.param(stream(line("ERROR", GONE)), id="as event"),
    ],
)
async def test_an_expired_version_leads_to_exactly_one_list(expiry: Says) -> None:
    told = await tell(listing(7, A, B), expiry, listing(9, C), streaming=False)
    assert told.asked == ["list", "watch 7", "list", "watch 9"]
    assert told.events == ["= a@5 b@6", "= c@9"]
    assert told.names == {"c"}


def born(name: str, version: int, uid: str) -> JsonObject:
    made = named(name, version)
    made["metadata"]["uid"] = uid
    return made


@pytest.mark.parametrize(
    "known, gone, left",
    [
        pytest.param("u2", "u1", {"a"}, id="of an object that had the name before"),
        pytest.param("u1", "u1", set(), id="of this very object"),
        pytest.param("u1", "", set(), id="that does not say of which"),
        pytest.param("", "u1", set(), id="of one that we know too little about"),
    ],
)
async def test_a_deletion_counts_if_it_is_that_of_the_object_we_know(
    known: str, gone: str, left: set[str]
) -> None:
    told = await tell(
        listing(7, born("a", 5, known)),
        stream(line("DELETED", born("a", 8, gone)), line("ADDED", B), 60.0),
        streaming=False,
    )
    assert told.names == {"b"} | left
    assert told.reflector.comparison().differences() == {Key("shop", one) for one in told.names}


async def test_a_server_that_forgets_at_once_again_and_again_is_asked_less_and_less() -> None:
    expired = says(GONE, 410)
    told = await tell(listing(7, A), *[expired, listing(9, C)] * 100, seconds=2000, streaming=False)
    assert told.names == {"c"}
    pauses = [later - earlier for earlier, later in pairwise(told.script.times)]
    assert max(pauses) >= 15
    assert len(told.script.times) < 300


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(says(refusal(504, "Timeout", "Too large resource version", causes=[
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        ]), 504), id="newer than the server"),
        pytest.param(refuses(404, "NotFound"), id="the kind was gone"),
        pytest.param(refuses(400, "BadRequest", "invalid resource version"), id="not understood"),
        pytest.param(stream(b"{}\n"), id="nonsense at once"),
    ],
)  # fmt: skip
async def test_a_version_that_cannot_be_used_leads_to_a_list(answer: Says) -> None:
    told = await tell(listing(7, A), answer, listing(9, C), streaming=False)
    assert told.asked == ["list", "watch 7", "list", "watch 9"]
    assert told.names == {"c"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Breaks(), id="refused connection"),
        pytest.param(refuses(429, "TooManyRequests", retry_after="3"), id="429"),
        pytest.param(refuses(503, "ServiceUnavailable"), id="503"),
        pytest.param(refuses(401, "Unauthorized"), id="401"),
        pytest.param(refuses(403, "Forbidden"), id="403"),
        pytest.param(stream(stays=False), id="closed at once"),
        pytest.param(stream(b'{"type":"ADD', stays=False), id="cut in the middle of a line"),
        pytest.param(stream(b'{"type":', Unreachable("reset")), id="reset"),
    ],
)
async def test_a_failed_watch_keeps_everything_and_goes_on_where_it_was(
    answer: Says | Breaks,
) -> None:
    told = await tell(listing(7, A, B), answer, stream(line("ADDED", C)), streaming=False)
    assert told.asked == ["list", "watch 7", "watch 7"]
    assert told.events == ["= a@5 b@6", "+c@9"]
    assert told.states[-2:] == [State.STALE, State.SYNCED]
    pause = told.script.times[2] - told.script.times[1]
    assert 0.4 <= pause <= 6.0


async def test_too_many_requests_pauses_for_as_long_as_the_server_wishes() -> None:
    busy = refuses(429, "TooManyRequests", retry_after="20")
    told = await tell(listing(7, A), busy, streaming=False, seconds=60)
    assert told.script.times[2] >= 20.0


@pytest.mark.parametrize(
    "parts, version",
    [
        pytest.param((line("ADDED", C),), "watch 9", id="from the last event"),
        pytest.param((bookmark(33),), "watch 33", id="from a bookmark"),
        pytest.param((line("ADDED", C), b"nonsense\n"), "watch 9", id="from before nonsense"),
        pytest.param((line("ADDED", C), b'{"ty'), "watch 9", id="from before a cut"),
        pytest.param((line("DELETED", named("a", 12)),), "watch 12", id="from a deletion"),
    ],
)
async def test_a_watch_resumes(parts: tuple[bytes, ...], version: str) -> None:
    told = await tell(listing(7, A, B), stream(*parts, stays=False), streaming=False)
    assert told.asked == ["list", "watch 7", version]


async def test_a_silent_watch_is_dead_after_ninety_seconds() -> None:
    told = await tell(listing(7, A), stream(bookmark(8)), seconds=100, streaming=False)
    assert told.asked == ["list", "watch 7", "watch 8"]
    assert 90.0 <= told.script.times[2] - told.script.times[1] <= 91.0


async def test_bookmarks_keep_a_watch_alive() -> None:
    parts: list[bytes | float] = []
    for version in range(8, 14):
        parts += [60.0, bookmark(version)]
    told = await tell(listing(7, A), stream(*parts), seconds=360, streaming=False)
    assert told.asked == ["list", "watch 7"]


async def test_the_server_is_asked_to_end_a_watch_before_its_silence_is_taken_for_death() -> None:
    """Bookmarks are promised only where something has moved on since the watch began."""
    told = await tell(listing(7, A), streaming=False)
    assert 60 <= int(dict(told.script.requests[1].query)["timeoutSeconds"]) <= Limits().silence - 10


async def test_a_cluster_at_rest_is_not_taken_for_dead() -> None:
    west = cluster()
    states: list[State] = []
    reflector = Reflector[Service](Random(1), changed=states.append)
    client = Client(west.transport())
    task = asyncio.create_task(reflect(Source(client, SERVICES), reflector, lambda _: None))
    await asyncio.sleep(3600)
    task.cancel()
    await asyncio.wait({task})
    assert states == [State.SYNCED]
    assert reflector.error is None


async def test_the_pause_grows_and_is_bounded() -> None:
    told = await tell(*[Breaks()] * 20, seconds=600, streaming=False)
    times = told.script.times
    pauses = [later - earlier for earlier, later in pairwise(times[:20])]
    assert all(
        0.5 * min(0.8 * 2**n, 30) <= pause <= min(0.8 * 2**n, 30) + 0.001
        for n, pause in enumerate(pauses)
    )
    assert told.states == []
    assert told.reflector.state is State.CONNECTING


@pytest.mark.parametrize("lasted, longest", [(1.0, 1.0 + 0.8 * 2**4), (6.0, 6.0 + 0.8)])
async def test_failures_before_a_watch_that_lasted_are_forgotten(
    lasted: float, longest: float
) -> None:
    """Connections that break now and then cost a moment each time, not half a minute."""
    breaking = stream(lasted, bookmark(8), Unreachable("reset"))
    told = await tell(
        *[Breaks()] * 4, listing(7, A), breaking, stream(), seconds=60, streaming=False
    )
    assert told.asked[-1] == "watch 8"
    assert longest / 2 <= told.script.times[-1] - told.script.times[-2] <= longest


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            says({"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"},
                  "items": None}),
            id="items: null",
        ),
        pytest.param(says(refusal(0, "") | {"status": "Success"}), id="a Status"),
        pytest.param(
            says({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"},
                  "items": []}),
            id="a list of something else",
        ),
        pytest.param(
            says({"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": []}),
            id="no version",
        ),
        pytest.param(
            Says((b"<html><title>Sign in</title>",), headers={"content-type": "text/html"}),
            id="HTML",
        ),
        pytest.param(listing(9, {"metadata": {}}), id="an object without a name"),
        pytest.param(Says((b'{"kind":"ServiceList"',)), id="cut"),
        pytest.param(Says((b"[" * 100_000,)), id="bottomless"),
        pytest.param(refuses(403, "Forbidden"), id="403"),
        pytest.param(refuses(500, "InternalError"), id="500"),
    ],
)  # fmt: skip
async def test_a_list_that_is_none_deletes_nothing(answer: Says) -> None:
    told = await tell(listing(7, A), says(GONE, 410), answer, listing(9, A, B), streaming=False)
    assert told.events == ["= a@5", "= a@5 b@6"]


async def test_one_unreadable_object_in_a_list_hides_no_other() -> None:
    bad = named("b", 6, spec={"ports": "none"})
    told = await tell(listing(7, A, bad, C), streaming=False)
    assert told.events == ["= a@5 c@9 ?b"]
    assert list(told.reflector.unreadable) == [Key("shop", "b")]
    assert "$.spec.ports" in told.reflector.unreadable[Key("shop", "b")]


async def test_an_object_that_becomes_unreadable_keeps_its_last_value() -> None:
    bad = line("MODIFIED", named("b", 8, spec={"ports": "none"}))
    told = await tell(stream(*INITIAL, bad, line("ADDED", C)))
    assert told.events == ["= a@5 b@6", "+c@9"]
    assert told.names == {"a", "b", "c"}
    assert list(told.reflector.unreadable) == [Key("shop", "b")]


async def test_an_object_that_becomes_readable_again_is_no_longer_reported() -> None:
    bad = line("MODIFIED", named("b", 8, spec={"ports": "none"}))
    told = await tell(stream(*INITIAL, bad, line("MODIFIED", named("b", 9))))
    assert told.events == ["= a@5 b@6", "+b@9"]
    assert told.reflector.unreadable == {}


async def test_the_deletion_of_an_unreadable_object_is_one() -> None:
    told = await tell(stream(*INITIAL, line("DELETED", named("b", 8, spec=[]))))
    assert told.events == ["= a@5 b@6", "-b"]


def living(*parts: bytes | float) -> Says:
    """A watch with a bookmark every minute, after ``parts``."""
    beats: list[bytes | float] = list(parts)
    for version in range(100, 112):
        beats += [60.0, bookmark(version)]
    return stream(*beats)


async def test_what_a_watch_has_lost_is_found_counted_and_healed() -> None:
    told = await tell(
        listing(7, A, B), living(), listing(50, B, C), living(), listing(51, B, C),
        streaming=False, seconds=800,
    )  # fmt: skip
    assert told.asked[:2] == ["list", "watch 7"]
    assert [one.split()[0] for one in told.asked[2:6]] == ["list", "watch", "list", "watch"]
    assert 480.0 <= told.script.times[2] <= 720.0
    assert told.reflector.divergences == 2
    assert told.events == ["= a@5 b@6", "= b@6 c@9"]


async def test_a_change_that_the_watch_still_delivers_was_not_lost() -> None:
    told = await tell(
        listing(7, A, B), living(), listing(50, A, B, C), living(line("ADDED", C)),
        streaming=False, seconds=800,
    )  # fmt: skip
    assert told.reflector.divergences == 0
    assert [one.split()[0] for one in told.asked] == ["list", "watch", "list", "watch"]
    assert told.events == ["= a@5 b@6", "+c@9"]


async def test_a_comparison_that_fails_changes_nothing() -> None:
    told = await tell(
        listing(7, A), living(), refuses(500, "InternalError"), living(), listing(8, A),
        streaming=False, seconds=800,
    )  # fmt: skip
    kinds = [one.split()[0] for one in told.asked]
    assert kinds[:6] == ["list", "watch", "list", "watch", "list", "watch"]
    assert told.events == ["= a@5"]
    assert told.reflector.divergences == 0


async def test_an_endless_initial_state_does_not_fill_the_memory() -> None:
    flood = stream(*[line("ADDED", named(f"s{n}", n + 1)) for n in range(1000)])
    script = Script(flood, listing(7, A))
    client = Client(script, limits=Limits(list_bytes=10_000))
    events: list[str] = []
    reflector = Reflector[Service](Random(7), streaming=True)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await reflect(
                Source(client, SERVICES), reflector, lambda event: events.append(in_short(event))
            )
    assert events == ["= a@5"]


ERRORS: list[IsthmusError] = [
    Unreachable("x"), Expired("x"), Throttled("x", 5.0), Garbled("x"), Rejected("x"),
    Forbidden("x"),
]  # fmt: skip


@given(
    outcomes=st.lists(
        st.tuples(
            st.sampled_from(["works", "ends", "is left", "differs", *range(len(ERRORS))]),
            st.sampled_from([0.0, 1.0, 30.0, 130.0, 700.0]),
        ),
        max_size=40,
    ),
    streaming=st.booleans(),
)
@example(
    outcomes=[("works", 0.0), ("is left", 0.0), ("differs", 0.0), (0, 700.0), ("ends", 0.0)],
    streaming=False,
)
def test_whatever_happens_a_watch_is_never_due_for_leaving_before_it_begins(
    outcomes: list[tuple[str | int, float]], streaming: bool
) -> None:
    """Were it otherwise, the loop around the reflector would spin without doing anything."""
    reflector = Reflector[Service](Random(7), streaming=streaming)
    nothing: Page[Service] = Page((), (), "7")
    something = Page((SERVICE,), (), "7")
    now = 0.0
    for outcome, seconds in outcomes:
        step = reflector.next(now)
        match step:
            case Wait(pause):
                assert 0 < pause <= 30.0
                now += pause
                step = reflector.next(now)
                assert not isinstance(step, Wait)
        if isinstance(step, Watch | Stream):
            assert reflector.due_at > now
            if outcome not in (0, 2, 4):  # half of the failures come before an answer
                reflector.opened(now)
        now += max(0.0, min(seconds, reflector.due_at - now))
        match step, outcome:
            case _, int():
                reflector.failed(ERRORS[outcome], now)
            case List(), _:
                reflector.listed(nothing, now)
            case Audit(), "differs":
                comparison = reflector.comparison()
                comparison.add(something)
                reflector.audited(comparison, now)
            case Audit(), "ends":
                reflector.audit_failed(Unreachable("x"), now)
            case Audit(), _:
                reflector.audited(reflector.comparison(), now)
            case Stream(), "works":
                reflector.received(Bookmark("7", complete=True), now)
            case _, "is left":
                now = max(now, reflector.due_at)
                reflector.left(now)
            case _:
                reflector.ended(now)


async def test_what_is_unreadable_in_a_stream_is_reported_like_in_a_list() -> None:
    bad = line("ADDED", named("b", 6, spec={"ports": "none"}))
    told = await tell(
        stream(line("ADDED", A), bad, bookmark(6), line("ADDED", C), bookmark(9, complete=True))
    )
    assert told.events == ["= a@5 c@9 ?b"]  # a bookmark on the way is not the end
    assert list(told.reflector.unreadable) == [Key("shop", "b")]


async def test_the_reasons_of_many_unreadable_objects_are_kept_within_bounds() -> None:
    flood = [line("ADDED", named(f"s{n}", n + 1, spec=[])) for n in range(NAMED + 10)]
    told = await tell(stream(*INITIAL, *flood))
    assert len(told.reflector.unreadable) == NAMED
    assert told.names == {"a", "b"}


async def test_an_object_that_has_become_unreadable_unseen_is_found_by_comparing() -> None:
    bad = named("b", 6, spec={"ports": "none"})
    told = await tell(
        listing(7, A, B), living(), listing(50, A, bad), living(), listing(51, A, bad),
        streaming=False, seconds=800,
    )  # fmt: skip
    assert told.reflector.divergences == 1
    assert told.names == {"a", "b"}  # the last value that could be read


def test_after_another_cluster_has_answered_everything_is_listed_anew() -> None:
    reflector = Reflector[Service](Random(1))
    reflector.listed(Page((SERVICE,), (), "7"), now=0.0)
    assert isinstance(reflector.next(1.0), Watch)
    reflector.failed(IdentityChanged("another UID"), now=2.0)
    assert isinstance(reflector.next(60.0), List)
