"""Reading a catalogue: what may come out of any bytes, and of any honest server."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.catalogue.errors import Garbled, WrongCluster
from isthmus.catalogue.messages import (
    Alive,
    Complete,
    Hello,
    Message,
    Offered,
    Unfit,
    Withdrawn,
    line,
)
from isthmus.catalogue.reader import Changed, Heard, Limits, Reader, Snapshot
from isthmus.core.export import sound
from isthmus.core.offer import Offer
from isthmus.model.errors import IsthmusError
from isthmus.model.exports import Export, Refused
from isthmus.model.objects import Key
from tests.support.builders import export
from tests.support.strategies import exports

HELLO = Hello(
    version=1, cluster="west", uid="u", mesh_domain="isthmus", cluster_domain="cluster.local"
)
BEGIN = line(HELLO)
WEB = Key("shop", "web")


def heard(*chunks: bytes, limits: Limits | None = None) -> list[Heard]:
    reader = Reader("west", "isthmus", limits)
    return [one for chunk in chunks for one in reader.receive(chunk)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


CUTS = st.lists(st.integers(0, 10_000), max_size=8)


@given(offered=st.lists(exports(), max_size=4, unique_by=lambda one: one.key), places=CUTS)
def test_what_is_offered_arrives_however_it_is_cut(
    offered: list[Export], places: list[int]
) -> None:
    said = BEGIN + b"".join(line(Offered(export=one)) for one in offered)
    said += line(Complete(count=len(offered)))
    hello, read = heard(*cut(said, places))
    assert hello == HELLO
    assert isinstance(read, Snapshot)
    assert read.offers == {one.key: Offer(sound(one), one.labels) for one in offered}


@given(data=st.binary(max_size=300), places=CUTS, met=st.booleans())
def test_any_bytes_are_messages_or_refused(data: bytes, places: list[int], met: bool) -> None:
    with suppress(Garbled):
        for one in heard(BEGIN if met else b"", *cut(data, places)):
            assert not isinstance(one, Changed)


@given(data=st.data())
def test_nothing_comes_out_before_the_end_of_the_snapshot(data: st.DataObject) -> None:
    offered = data.draw(st.lists(exports(), min_size=1, max_size=4, unique_by=lambda one: one.key))
    said = BEGIN + b"".join(line(Offered(export=one)) for one in offered)
    whole = said + line(Complete(count=len(offered)))
    place = data.draw(st.integers(len(BEGIN), len(whole) - 1))
    assert heard(whole[:place]) == [HELLO]


def test_what_is_said_again_before_the_end_counts_as_it_was_said_last() -> None:
    first, last = export("web"), export("web", version="8")
    offered = (line(Offered(export=one)) for one in (first, export("db"), last))
    gone = line(Withdrawn(namespace="shop", name="db"))
    found = heard(BEGIN, *offered, gone, line(Complete(count=1)))
    assert found[1:] == [Snapshot({WEB: Offer(last, last.labels)})]


def test_changes_come_one_by_one_after_the_snapshot() -> None:
    web = export("web")
    found = heard(
        BEGIN,
        line(Complete(count=0)),
        line(Offered(export=web)),
        line(Alive()),
        line(Withdrawn(namespace="shop", name="web")),
    )
    assert found[2:] == [Changed(WEB, Offer(web, web.labels)), Alive(), Changed(WEB, None)]


@pytest.mark.parametrize(
    "reason, message, expected",
    [
        ("NoTCPPorts", "service has only UDP ports", ("NoTCPPorts", "service has only UDP ports")),
        ("rm -rf", "fine", ("Refused", "fine")),
        ("NoPorts", "a\x1b[2Jb", ("NoPorts", "")),
        ("NoPorts", "x" * 5000, ("NoPorts", "x" * 200)),
    ],
)
def test_reasons_of_strangers_are_made_harmless(
    reason: str, message: str, expected: tuple[str, str]
) -> None:
    said = Refused(namespace="shop", name="web", reason=reason, message=message)
    found = heard(BEGIN, line(Unfit(refused=said, labels={"a": "b"})), line(Complete(count=1)))
    assert isinstance(found[1], Snapshot)
    (offer,) = found[1].offers.values()
    assert isinstance(offer.said, Refused)
    assert (offer.said.reason, offer.said.message) == expected
    assert offer.labels == {"a": "b"}


def test_an_export_that_cannot_be_mirrored_is_refused_by_itself() -> None:
    odd = export("web", ports=(export().ports[0], export().ports[0]))
    found = heard(BEGIN, line(Offered(export=odd)), line(Complete(count=1)))
    assert isinstance(found[1], Snapshot)
    (offer,) = found[1].offers.values()
    assert isinstance(offer.said, Refused)
    assert offer.said.reason == "InvalidPort"


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(Limits(offers=2), id="too many"),
        pytest.param(Limits(total_bytes=500), id="too much"),
        pytest.param(Limits(line_bytes=200), id="too long"),
    ],
)
def test_more_than_the_limits_is_refused(limits: Limits) -> None:
    said = [line(Offered(export=export(f"web-{number}"))) for number in range(3)]
    with pytest.raises(Garbled):
        heard(BEGIN, *said, limits=limits)
    again = [line(Offered(export=export("web")))] * 100
    assert heard(BEGIN, *again, limits=Limits(offers=2, total_bytes=1000)) == [HELLO]


def test_fields_of_later_versions_are_skipped() -> None:
    later = b'{"type":"alive","since":"yesterday"}\n'
    assert heard(BEGIN, later) == [HELLO, Alive()]


def test_a_line_that_is_no_message_does_not_get_into_the_log() -> None:
    hostile = line(HELLO).replace(b"hello", b"\\u001b[2J" + b"A" * 100_000)
    with pytest.raises(Garbled) as error:
        heard(hostile)
    assert len(str(error.value)) < 400
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "said, error, words",
    [
        pytest.param([Alive()], Garbled, "a hello is the first thing to say", id="no hello"),
        pytest.param([HELLO, HELLO], Garbled, "and is said once", id="two of them"),
        pytest.param(
            [replace(HELLO, version=2)], Garbled, "it is of version 2, and 1 is", id="new"
        ),
        pytest.param(
            [replace(HELLO, cluster="north")],
            WrongCluster,
            "that of 'north', not of west",
            id="else",
        ),
        pytest.param(
            [replace(HELLO, mesh_domain="evil")], WrongCluster, "is of the mesh 'evil'", id="mesh"
        ),
        pytest.param([replace(HELLO, uid="")], Garbled, "no usable UID", id="no UID"),
        pytest.param([replace(HELLO, uid="a\nb")], Garbled, "no usable UID", id="a line as UID"),
        pytest.param(
            [replace(HELLO, cluster_domain="a..b")], Garbled, "no usable domain", id="no domain"
        ),
        pytest.param(
            [HELLO, Complete(count=1)], Garbled, "does not hold what it says", id="too few"
        ),
        pytest.param(
            [HELLO, Complete(count=0), Complete(count=0)], Garbled, "does not hold", id="two ends"
        ),
        pytest.param(
            [HELLO, Offered(export=export("../x"))], Garbled, "that no Service can have", id="path"
        ),
    ],
)
def test_what_no_catalogue_would_say_is_refused_with_a_reason(
    said: list[Message], error: type[IsthmusError], words: str
) -> None:
    with pytest.raises(error, match=words):
        heard(*map(line, said))
