"""Asks containers whether they are ready, and whether they are alive, as their manifests say."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from isthmus.embedded.machine.objects import Container, Probe
from isthmus.embedded.machine.ports import Ports

# Seconds between two looks at a container that is not ready yet. Kubernetes, too, looks more often
# than at every period until it is, so that nobody waits for longer than the container takes.
EAGER = 0.1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What counts, and how many answers in a row have said otherwise."""

    passes: bool
    against: int = 0

    def after(self, probe: Probe, answer: bool) -> "Verdict":
        """What counts after one more answer: it takes some in a row to change it."""
        if answer == self.passes:
            return Verdict(self.passes)
        enough = probe.success_threshold if answer else probe.failure_threshold
        against = self.against + 1
        return Verdict(answer) if against >= enough else Verdict(self.passes, against)


@dataclass(frozen=True, slots=True)
class Asked:
    """A container at its pod's address, where ``ports`` may be bound."""

    container: Container
    address: str
    ports: Ports

    def port(self, said: int | str) -> int:
        """Where a port answers that a probe names, by its number or by its name."""
        for one in self.container.ports:
            if one.name == said:
                return self.ports.at(one.container_port)
        return self.ports.at(int(said)) if str(said).isdecimal() else 0


async def follow(
    probe: Probe, asked: Asked, verdict: Verdict, changed: Callable[[bool], None]
) -> None:
    """Ask for ever, and tell of every change of what counts."""
    await asyncio.sleep(probe.initial_delay_seconds)
    while True:
        after = verdict.after(probe, await passes(probe, asked))
        if after.passes != verdict.passes:
            changed(after.passes)
        verdict = after
        await asyncio.sleep(probe.period_seconds if verdict.passes else EAGER)


async def passes(probe: Probe, asked: Asked) -> bool:
    """Ask once; means that we do not have are taken to say yes."""
    try:
        async with asyncio.timeout(probe.timeout_seconds):
            if probe.http_get is not None:
                get = probe.http_get
                place = f"{asked.address}:{asked.port(get.port)}"
                url = f"{get.scheme.lower()}://{place}/{get.path.lstrip('/')}"
                async with (
                    aiohttp.ClientSession() as session,
                    session.get(url, ssl=False, allow_redirects=False) as answer,
                ):
                    return 200 <= answer.status < 400
            if probe.tcp_socket is not None:
                port = asked.port(probe.tcp_socket.port)
                _, writer = await asyncio.open_connection(asked.address, port)
                writer.transport.abort()
    except (aiohttp.ClientError, OSError):  # TimeoutError is one
        return False
    return True
