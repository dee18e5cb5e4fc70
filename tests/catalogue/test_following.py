"""How long a catalogue is listened to, on virtual time."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from isthmus.catalogue.errors import Unreachable
from isthmus.catalogue.following import LONGEST_SNAPSHOT, SILENCE, follow, snapshot
from isthmus.catalogue.messages import HEARTBEAT, Alive, Complete, Offered, Revoked, line
from isthmus.catalogue.reader import Heard, Reader, Snapshot
from isthmus.catalogue.serving import spoken
from tests.catalogue.test_offers import HELLO, offers, put
from tests.support.builders import export

TRUTH = line(HELLO) + line(Complete(count=0))


def now() -> float:
    return asyncio.get_running_loop().time()


async def listened(*said: tuple[float, bytes]) -> tuple[list[Heard], float]:
    """Return what was heard of chunks said at those times, and when the silence was noticed."""

    async def chunks() -> AsyncGenerator[bytes, None]:
        for at, chunk in said:
            await asyncio.sleep(at - now())
            yield chunk
        await asyncio.sleep(1e6)

    heard: list[Heard] = []
    source = chunks()
    try:
        async for one in follow(source, Reader("west", "isthmus")):
            heard.append(one)  # noqa: PERF401  # what was heard before the error counts, too
    except Unreachable:
        return heard, now()
    finally:
        await source.aclose()
    raise AssertionError("the silence was not noticed")


async def test_silence_ends_a_connection() -> None:
    heard, ended = await listened((1, TRUTH), (29, line(Alive())))
    assert heard == [HELLO, Snapshot({}), Alive()]
    assert ended == pytest.approx(29 + SILENCE)


async def test_bytes_that_are_no_message_are_silence() -> None:
    _, ended = await listened((1, TRUTH), *((float(at), b" ") for at in range(2, 60)))
    assert ended == pytest.approx(1 + SILENCE)


async def test_a_snapshot_must_end() -> None:
    more = [(float(at), line(Offered(export=export(f"web-{at}")))) for at in range(1, 1000)]
    heard, ended = await listened((0.5, line(HELLO)), *more)
    assert heard == [HELLO]
    assert ended == pytest.approx(LONGEST_SNAPSHOT, abs=1)


async def test_a_quiet_server_gives_signs_of_life_and_ends_after_its_time() -> None:
    west = offers()
    put(west, "web")
    stream = west.open("east")
    said = [chunk async for chunk in spoken(stream, 95)]
    assert said[0] == line(HELLO)
    assert said[2:] == [line(Alive())] * 9 + [line(Alive())]
    assert now() == pytest.approx(10 * HEARTBEAT)


async def test_a_stream_that_is_revoked_ends_at_once() -> None:
    west = offers()
    stream = west.open("east")
    said = []
    async for chunk in spoken(stream):
        said.append(chunk)
        if len(said) == 2:
            west.permit([])
    assert said == [line(HELLO), line(Complete(count=0)), line(Revoked())]
    assert now() == 0


@pytest.mark.parametrize("said", [b"", line(HELLO), line(HELLO) + line(Alive())])
async def test_a_catalogue_that_breaks_off_is_no_snapshot(said: bytes) -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        yield said

    with pytest.raises(Unreachable, match="broke off before it was complete"):
        await snapshot(chunks(), Reader("west", "isthmus"))


async def test_signs_of_life_before_a_snapshot_are_passed_over() -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        yield line(HELLO) + line(Alive()) + line(Complete(count=0))

    assert await snapshot(chunks(), Reader("west", "isthmus")) == (HELLO, Snapshot({}))
