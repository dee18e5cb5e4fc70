"""``python -m bench.mirroring.storm JOB``: change exported Services, so many a second, for ever.

A process of its own, so that whoever measures single changes meanwhile is not kept from its clock.
Changes are sent when they are due, whether those before them have been answered or not.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench import peers
from bench.mirroring.clusters import Server
from bench.population import namespace, service
from bench.requests import send, session
from lab.process import Process, Supervisor

MARK = "example.com/storm"
MOST = 64  # changes under way; beyond them the storm is what the server can take


class Job(msgspec.Struct, frozen=True, kw_only=True):
    west: Server
    services: int
    rate: float  # changes a second


async def blow(job: Job) -> None:
    """Change one Service after the other; say every second how many were changed so far."""
    done = 0
    room = asyncio.Semaphore(MOST)

    async with session(job.west) as opened, asyncio.TaskGroup() as group:

        async def change(number: int) -> None:
            nonlocal done
            one = number % job.services
            name = service(one)["metadata"]["name"]
            path = f"/api/v1/namespaces/{namespace(one)}/services/{name}"
            patch = {"metadata": {"annotations": {MARK: str(number)}}}
            try:
                await send(opened, "PATCH", path, patch)
            finally:
                room.release()
            done += 1

        began = said = time.monotonic()
        number = 0
        while True:
            await room.acquire()
            group.create_task(change(number))
            number += 1
            now = time.monotonic()
            if now - said >= 1.0:
                said = now
                print(f"{now - began:.3f} {done}", flush=True)
            await asyncio.sleep(max(0.0, began + number / job.rate - now))


class Storm:
    """A storm that blows."""

    def __init__(self, log: Path) -> None:
        self._log = log

    @property
    def rate(self) -> float:
        """How many changes a second there really were, so far."""
        lines = self._log.read_text().splitlines()
        if not lines:
            return 0.0
        seconds, done = lines[-1].split()
        return int(done) / float(seconds)


@contextmanager
def storm(job: Job, folder: Path) -> Iterator[Storm]:
    """Let it blow, from its first second on, until the context ends."""
    path = folder / "storm.json"
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.encode(job))
    log = folder / "storm.log"
    log.unlink(missing_ok=True)
    process = Process(
        name="storm",
        argv=(
            *("/usr/bin/env", f"PYTHONPATH={peers.ROOT}", sys.executable),
            *("-m", "bench.mirroring.storm", str(path)),
        ),
        ready=lambda: bool(log.read_text()),
    )
    supervisor = Supervisor(logs=folder)
    try:
        supervisor.start([process])
        yield Storm(log)
    finally:
        supervisor.stop_all()


def main() -> None:
    (path,) = sys.argv[1:]
    asyncio.run(blow(msgspec.json.decode(Path(path).read_bytes(), type=Job)))


if __name__ == "__main__":
    main()
