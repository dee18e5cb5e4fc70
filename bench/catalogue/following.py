"""``python -m bench.catalogue.following EXPORTS``: follow a catalogue of so many, and say its cost.

A process of its own for each measurement: its memory is that of a follower and of nothing else.
"""

import asyncio
import gc
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from random import Random
from typing import IO, TypeVar

import msgspec

from bench import peers
from bench.catalogue.figures import Followed, Follower, Server
from bench.catalogue.serving import OWN, Reach
from bench.meter import memory
from bench.trial import Failed
from isthmus.catalogue.callers import Site
from isthmus.catalogue.dialing import Dialer
from isthmus.catalogue.following import Chunks, Door, Open, follow
from isthmus.catalogue.messages import Alive
from isthmus.catalogue.reader import Changed, Heard, Reader, Snapshot
from isthmus.kube.tls import as_file
from isthmus.model.exports import Export
from isthmus.model.identities import MESH_DOMAIN

SINGLES, BURST = 100, 1000
T = TypeVar("T")


class Counted:
    """Chunks, and how many bytes were in them."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self.bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self.bytes += len(chunk)
            yield chunk


class There:
    """The process that serves."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked: IO[str] = process.stdin
        self._said: IO[str] = process.stdout

    def hear(self, shape: type[T]) -> T:
        line = self._said.readline()
        if not line:
            raise Failed("the catalogue's server has ended")
        return msgspec.json.decode(line.encode(), type=shape)

    def ask(self, what: str) -> None:
        self._asked.write(f"{what}\n")
        self._asked.flush()

    def end(self) -> None:
        self._asked.close()


async def measure(exports: int, there: There) -> Followed:
    reach = there.hear(Reach)
    door = Door(cluster="west", addresses=(reach.address,), port=reach.port)
    context = _context(reach)
    east = Site(cluster="east", mesh_domain=MESH_DOMAIN, namespace=OWN.namespace)
    dialer = Dialer(east, lambda: context, Random(1))
    bare = await read_only(dialer.open, door)
    there.ask("cost")
    filled = there.hear(Server)
    gc.collect()
    base, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    async with dialer.open(door) as chunks:
        counted = Counted(chunks)
        reader = Reader("west", MESH_DOMAIN)
        async with aclosing(follow(aiter(counted), reader)) as heard:
            async for one in heard:
                if isinstance(one, Snapshot):
                    held = one.offers
                    break
            else:
                raise Failed("the catalogue broke off")
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            gc.collect()
            followed = Follower(wall=wall, cpu=cpu, kept=memory("VmRSS"))
            if len(held) != exports:
                raise Failed(f"{len(held)} of {exports} exports were heard of")
            snapshot_bytes = counted.bytes
            there.ask("cost")
            served = there.hear(Server)
            there.ask(f"single {SINGLES}")
            single = [await _age(heard) for _ in range(SINGLES)]
            single_bytes = (counted.bytes - snapshot_bytes) / SINGLES
            burst = min(BURST, exports)
            there.ask(f"burst {burst}")
            first = min([await _made(heard) for _ in range(burst)])
            burst_wall = time.monotonic() - first
    return Followed(
        exports=exports,
        digest=reach.digest,
        empty=reach.empty,
        filled=filled,
        snapshot=followed,
        snapshot_bytes=snapshot_bytes,
        served=served,
        bare=bare,
        base=base,
        single=tuple(single),
        single_bytes=single_bytes,
        burst=burst,
        burst_wall=burst_wall,
    )


async def read_only(opening: Open, door: Door) -> float:
    """Read the same bytes, and throw them away; return how long it takes.

    Whoever is first pays for what is made once, such as the gateway's first connection to the
    server: one read before this one does, and counts for nobody.
    """
    await _bare(opening, door)
    return await _bare(opening, door)


async def _bare(opening: Open, door: Door) -> float:
    began, end = time.perf_counter(), b""
    async with opening(door) as chunks:
        async for chunk in chunks:
            end = (end + chunk)[-200:]
            if b'"type":"complete"' in end:
                return time.perf_counter() - began
    raise Failed("the catalogue broke off")


async def _age(heard: AsyncGenerator[Heard, None]) -> float:
    """Return how long ago the next change was made."""
    made = await _made(heard)
    return time.monotonic() - made


async def _made(heard: AsyncGenerator[Heard, None]) -> float:
    """Return when the next change was made: it says so itself, by this machine's clock."""
    async for one in heard:
        if isinstance(one, Alive):
            continue
        if isinstance(one, Changed) and one.offer and isinstance(one.offer.said, Export):
            return int(one.offer.said.version) / 1e9
        raise Failed(f"something else was heard than a change: {type(one).__name__}")
    raise Failed("the catalogue broke off")


def _context(reach: Reach) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False  # the dialer verifies who answers
    made.load_verify_locations(cadata=reach.anchors)
    made.set_alpn_protocols(["http/1.1"])
    with as_file(reach.papers.encode()) as path:
        made.load_cert_chain(path)
    return made


def main() -> None:
    (exports,) = map(int, sys.argv[1:])
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.catalogue.serving", str(exports)],
        cwd=peers.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    there = There(process)
    try:
        found = asyncio.run(measure(exports, there))
    finally:
        there.end()
        process.wait()
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
