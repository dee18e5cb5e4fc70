"""Calls that pods make without a pause, and an exact account of every one that went wrong.

Requests come at a fixed rate whatever becomes of those before (an open loop), half of them over
connections that are kept. Connections that are meant to stay say something all the time, and
compare what comes back.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.records import Unresolved
from isthmus.embedded.machine.streams import Stream

PATIENCE = 10.0  # seconds until a request counts as failed
PAUSE = 0.25  # seconds between two words on a connection that stays
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Wrong(Exception):
    """What came was no answer. Says what came instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A pod, and what it calls."""

    machine: Machine
    pod: str
    host: str
    port: int = 80

    async def connect(self) -> Stream:
        return await self.machine.connect(self.pod, self.host, self.port)


@dataclass
class Requests:
    """So many requests each second, for as long as it runs."""

    caller: Caller
    rate: int
    path: str = "/"
    answers: Counter[str] = field(default_factory=Counter)  # by who answered
    failures: Counter[str] = field(default_factory=Counter)  # by what went wrong
    slowest: float = 0.0  # seconds
    _kept: list[Stream] = field(default_factory=list)

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            async with asyncio.TaskGroup() as group:
                for number in count():
                    await asyncio.sleep(begin + number / self.rate - clock())
                    group.create_task(self._one(keep=number % 2 == 0))
        finally:
            for _, writer in self._kept:
                writer.transport.abort()

    async def _one(self, *, keep: bool) -> None:
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            async with asyncio.timeout(PATIENCE):
                self.answers[await self._asked(keep=keep)] += 1
        except (OSError, EOFError, Unresolved, Wrong) as error:
            self.failures[f"{type(error).__name__}: {error}"] += 1
        self.slowest = max(self.slowest, clock() - begin)

    async def _asked(self, *, keep: bool) -> str:
        stream = (self._old() if keep else None) or await self.caller.connect()
        reader, writer = stream
        keeps = False
        try:
            ending = "" if keep else "connection: close\r\n"
            head = f"GET {self.path} HTTP/1.1\r\nhost: {self.caller.host}\r\n{ending}\r\n"
            writer.write(head.encode())
            keeps, body = await _answer(reader)
        finally:
            if keep and keeps:
                self._kept.append(stream)
            else:
                writer.transport.abort()
        return body.partition("\n")[0].removeprefix("Welcome, this is ")

    def _old(self) -> Stream | None:
        """Return a connection that is open still, as far as the other side has said."""
        while self._kept:
            reader, writer = self._kept.pop()
            if not reader.at_eof():
                return reader, writer
            writer.transport.abort()
        return None


async def _answer(reader: asyncio.StreamReader) -> tuple[bool, str]:
    """Read an answer; tell whether the connection may be used again."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if length is None:
        raise Wrong(f"an answer without a length: {head.decode()!r}")
    body = (await reader.readexactly(int(length[1]))).decode()
    if not head.startswith(b"HTTP/1.1 200 "):
        status = head.split(b" ", 2)[1].decode()
        raise Wrong(f"{status} {body!r}")
    return b"connection: close" not in head.lower(), body


@dataclass
class Line:
    """One connection that is meant to stay."""

    pod: str = ""  # at the other end
    words: int = 0  # that came back as they were said
    end: str = ""  # why it is no more
    ended: float = 0.0  # when, by the loop's clock

    def ends(self, error: Exception) -> None:
        self.end = f"{type(error).__name__}: {error}"
        self.ended = asyncio.get_running_loop().time()


@dataclass
class Lines:
    """Connections to a server that greets with its name and then repeats what it hears."""

    caller: Caller
    number: int
    lines: list[Line] = field(default_factory=list)

    @property
    def open(self) -> list[Line]:
        return [one for one in self.lines if not one.end]

    @property
    def are_up(self) -> bool:
        return len(self.lines) == self.number and all(one.words for one in self.lines)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.number):
                group.create_task(self._keep())
                await asyncio.sleep(PAUSE / self.number)

    async def _keep(self) -> None:
        line = Line()
        self.lines.append(line)
        try:
            reader, writer = await self.caller.connect()
        except OSError as error:
            line.ends(error)
            return
        try:
            line.pod = (await reader.readuntil(b"\n")).decode().split()[1]
            await self._talk(line, reader, writer)
        except (OSError, EOFError, TimeoutError, Wrong) as error:
            line.ends(error)
        finally:
            writer.transport.abort()

    async def _talk(
        self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for number in count():
            word = f"{id(line)} says {number}\n".encode() * 8
            writer.write(word)
            async with asyncio.timeout(PATIENCE):
                heard = await reader.readexactly(len(word))
            if heard != word:
                raise Wrong(f"said {word[:40]!r}, heard {heard[:40]!r}")
            line.words += 1
            await asyncio.sleep(PAUSE)


@dataclass
class Downloads:
    """Answers that never end: line after line, each of which is looked at."""

    caller: Caller
    number: int
    lines: list[Line] = field(default_factory=list)

    @property
    def open(self) -> list[Line]:
        return [one for one in self.lines if not one.end]

    @property
    def are_up(self) -> bool:
        return len(self.lines) == self.number and all(one.words for one in self.lines)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.number):
                group.create_task(self._read())

    async def _read(self) -> None:
        line = Line()
        self.lines.append(line)
        reader, writer = await self.caller.connect()
        try:
            path = f"/stream?lines=1000000&pause={PAUSE}"
            writer.write(f"GET {path} HTTP/1.1\r\nhost: {self.caller.host}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise Wrong(head.decode())
            rest = ""
            while True:
                async with asyncio.timeout(PATIENCE):
                    size = int(await reader.readuntil(b"\r\n"), 16)
                    chunk = (await reader.readexactly(size + 2)).decode()
                # Proxies may cut a body into other chunks than the server did.
                *whole, rest = (rest + chunk.removesuffix("\r\n")).split("\n")
                for heard in whole:
                    if heard != f"line {line.words}":
                        raise Wrong(f"line {line.words} was {heard!r}")
                    line.words += 1
        except (OSError, EOFError, TimeoutError, ValueError, Wrong) as error:
            line.ends(error)
        finally:
            writer.transport.abort()


@asynccontextmanager
async def running(*parts: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Let these go on as long as the block does."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part) for part in parts]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
