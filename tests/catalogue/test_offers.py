"""What followers are told: what they may see, all of it, in the end."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.catalogue.errors import Forbidden, Unavailable
from isthmus.catalogue.messages import Hello, line
from isthmus.catalogue.offers import CHUNK, MOST_STREAMS, Offers, Stream
from isthmus.catalogue.reader import Changed, Reader, Snapshot
from isthmus.core.grant import Permit, permit
from isthmus.core.offer import Offer
from isthmus.model.exports import Refused
from isthmus.model.grants import Grant, GrantSpec, To
from isthmus.model.objects import Key, Metadata
from tests.support.builders import export

HELLO = Hello(
    version=1, cluster="west", uid="u", mesh_domain="isthmus", cluster_domain="cluster.local"
)


def permitting(cluster: str = "east", *services: str) -> Permit:
    to = To(services=services) if services else To()
    made = Grant(metadata=Metadata(name="g"), spec=GrantSpec(cluster=cluster, to=to))
    found = permit(made, "isthmus")
    assert found is not None
    return found


def offers(*permits: Permit) -> Offers:
    made = Offers(lambda: HELLO)
    made.permit(permits or (permitting(),))
    return made


def put(to: Offers, name: str, version: str = "1") -> None:
    one = export(name, version=version)
    to.put(one.key, Offer(one, one.labels))


class Follower:
    """Reads a stream as the other side does, and remembers what it has heard."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.known: dict[str, str] | None = None
        self._reader = Reader("west", "isthmus")
        list(self._reader.receive(line(stream.hello)))

    def listen(self, pieces: int = 10_000) -> None:
        for _ in range(pieces):
            told = self.stream.take()
            if not told:
                return
            for one in self._reader.receive(told):
                if isinstance(one, Snapshot):
                    found = one.offers.items()
                    self.known = {key.name: _version(offer) for key, offer in found}
                elif isinstance(one, Changed) and self.known is not None:
                    self.known.pop(one.key.name, None)
                    if one.offer is not None:
                        self.known[one.key.name] = _version(one.offer)


def _version(offer: Offer) -> str:
    return getattr(offer.said, "version", "")


async def test_a_follower_is_told_everything_and_then_what_changes() -> None:
    west = offers()
    put(west, "web")
    follower = Follower(west.open("east"))
    follower.listen()
    assert follower.known == {"web": "1"}
    put(west, "web", "2")
    put(west, "db")
    follower.listen()
    assert follower.known == {"web": "2", "db": "1"}
    west.put(Key("shop", "web"), None)
    follower.listen()
    assert follower.known == {"db": "1"}


async def test_a_follower_is_told_why_there_is_no_export() -> None:
    west = offers()
    why = Refused(namespace="shop", name="web", reason="NoPorts", message="it has no ports")
    west.put(why.key, Offer(why, {"team": "a"}))
    stream, reader = west.open("east"), Reader("west", "isthmus")
    heard = list(reader.receive(line(stream.hello) + stream.take()))
    assert heard == [HELLO, Snapshot({why.key: Offer(why, {"team": "a"})})]


async def test_saying_the_same_again_is_no_news() -> None:
    west = offers()
    put(west, "web")
    stream = west.open("east")
    stream.take()
    put(west, "web")
    assert not stream.touched.is_set()
    assert stream.take() == b""


async def test_grants_show_and_hide_while_a_stream_goes_on() -> None:
    west = offers(permitting("east", "shop/web"))
    put(west, "web")
    put(west, "db")
    follower = Follower(west.open("east"))
    follower.listen()
    assert follower.known == {"web": "1"}
    west.permit([permitting("east")])
    follower.listen()
    assert follower.known == {"web": "1", "db": "1"}
    west.permit([permitting("east", "shop/db")])
    follower.listen()
    assert follower.known == {"db": "1"}
    west.permit([permitting("north")])
    follower.listen()
    assert follower.stream.is_revoked
    assert follower.known == {"db": "1"}, "to be shut out is not to be told that all is gone"


async def test_a_grant_for_another_cluster_is_no_news() -> None:
    west = offers(permitting("east"))
    put(west, "web")
    follower = Follower(west.open("east"))
    follower.listen()
    west.permit([permitting("east"), permitting("north")])
    assert not follower.stream.touched.is_set()
    assert follower.known == {"web": "1"}


async def test_what_a_follower_may_not_see_it_is_not_told() -> None:
    west = offers(permitting("east", "shop/web"), permitting("north"))
    put(west, "web")
    put(west, "secret")
    told = west.open("east").take()
    assert b"web" in told
    assert b"secret" not in told


async def test_pieces_are_small_and_encoded_once() -> None:
    west = offers()
    for number in range(1000):
        put(west, f"web-{number}")
    stream, follower = west.open("east"), Follower(west.open("east"))
    pieces = list(iter(stream.take, b""))
    assert len(pieces) > 2
    assert all(len(one) < 2 * CHUNK for one in pieces)
    follower.listen(1)
    assert follower.known is None
    follower.listen()
    assert follower.known is not None
    assert len(follower.known) == 1000
    key = Key("shop", "web-7")
    assert west.shown(key, "east") is west.shown(key, "east")


async def test_streams_of_a_source_are_bounded_and_the_oldest_goes() -> None:
    west = offers(permitting("east"), permitting("north"))
    north = west.open("north")
    streams = [west.open("east") for _ in range(MOST_STREAMS + 1)]
    assert west.streams == {"east": MOST_STREAMS, "north": 1}
    assert [one.is_over for one in streams] == [True] + [False] * MOST_STREAMS
    assert not north.is_over
    for one in streams:
        west.forget(one)
    assert west.streams == {"north": 1}


async def test_there_is_no_stream_without_a_grant_or_before_all_is_known() -> None:
    with pytest.raises(Forbidden):
        offers().open("north")
    unknown = Offers(lambda: None)
    unknown.permit([permitting()])
    with pytest.raises(Unavailable):
        unknown.open("east")
    closed = offers()
    closed.close()
    with pytest.raises(Unavailable):
        closed.open("east")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.sampled_from("12")),
        st.tuples(st.just("gone"), st.sampled_from("abcd"), st.just("")),
        st.tuples(st.just("permit"), st.sampled_from(["", "a", "ab", "bcd"]), st.just("")),
        st.tuples(st.just("listen"), st.just(""), st.just("")),
    ),
    max_size=25,
)


@given(before=STEPS, after=STEPS, seed=st.integers(0, 99))
def test_in_the_end_a_follower_knows_exactly_what_it_may_see(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], seed: int
) -> None:
    west, truth, seen = offers(), {}, "abcd"
    random = Random(seed)
    follower: Follower | None = None
    for number, (verb, names, version) in enumerate((*before, *after)):
        if number == len(before):
            follower = Follower(west.open("east"))
        match verb:
            case "put":
                put(west, names, version)
                truth[names] = version
            case "gone":
                west.put(Key("shop", names), None)
                truth.pop(names, None)
            case "permit":
                seen = names or "abcd"
                west.permit([permitting("east", *(f"shop/{one}" for one in seen))])
            case "listen" if follower is not None:
                follower.listen(random.randint(0, 2))
    follower = follower or Follower(west.open("east"))
    follower.listen()
    assert follower.known == {name: version for name, version in truth.items() if name in seen}
