"""``python -m bench.dataplane.scale ROLE PORTS``: how much an Envoy can be told, and how fast.

One process of its own for each measurement: its memory is that of what tells, next to Envoy's.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bench.dataplane.figures import Change, Cost, Scale
from bench.dataplane.proxies import Controller, controller, proxy
from bench.dataplane.told import Step, changes, everything, message_bytes
from bench.kernel import processor_seconds
from bench.meter import memory
from isthmus.envoy.process import Envoy
from isthmus.xds.assembly import Assembly
from isthmus.xds.references import Reference
from isthmus.xds.snapshot import EMPTY

PATIENCE = 600.0  # seconds until everything is acknowledged
SAMPLES = 20  # of each kind of change


async def measure(role: str, ports: int) -> Scale:
    with tempfile.TemporaryDirectory() as folder:
        async with controller() as told_by, proxy(role, told_by, Path(folder)) as made:
            return await _measured(Trial(role, ports, told_by, made))


class Trial:
    """One proxy that is told things."""

    def __init__(self, role: str, ports: int, told_by: Controller, made: Envoy) -> None:
        self.role, self.ports = role, ports
        self._told_by = told_by
        self._made = made
        self._assembly = Assembly()
        self._memory = self._memories()

    def build(self) -> Cost:
        """Put the first snapshot together."""
        began, cpu = time.perf_counter(), time.process_time()
        for part, resources in everything(self.role, self.ports):
            self._assembly.put(part, resources)
        self._assembly.snapshot()
        return Cost(wall=time.perf_counter() - began, ours=time.process_time() - cpu)

    async def deliver(self) -> Cost:
        """Publish everything, and wait until the proxy has it."""
        began, cpu, carried = time.perf_counter(), time.process_time(), self._used()
        await self._told_by.tell(self.role, self._assembly.snapshot(), PATIENCE)
        return Cost(
            wall=time.perf_counter() - began,
            ours=time.process_time() - cpu,
            envoy=self._used() - carried,
        )

    async def change(self, step: Step) -> Change:
        """Change one part, and wait until the proxy has it."""
        before = self._assembly.snapshot()
        sent, gone = self._told_by.ads.sent.total(), self._assembly.parts.get(step.part, ())
        wanted: dict[Reference, str | None] = dict.fromkeys(gone)
        wanted |= {Reference(one.type_url, one.name): one.version for one in step.resources}
        began = time.perf_counter()
        self._assembly.put(step.part, step.resources)
        await self._publish(wanted)
        return Change(
            what=step.what,
            wall=time.perf_counter() - began,
            sent=self._told_by.ads.sent.total() - sent,
            own=len(wanted),
            message=message_bytes(before, self._assembly.snapshot()),
        )

    async def _publish(self, wanted: Mapping[Reference, str | None]) -> None:
        self._told_by.ads.publish(self.role, self._assembly.snapshot())
        await self._told_by.until(
            lambda: self._told_by.holds(self.role, wanted), "everything acknowledged", PATIENCE
        )

    @property
    def message(self) -> int:
        """How many bytes say everything."""
        return message_bytes(EMPTY, self._assembly.snapshot())

    def grown(self) -> tuple[float, float, float, float]:
        return (*self._memory, *self._memories())

    def _used(self) -> float:
        assert self._made.pid is not None
        return processor_seconds(self._made.pid)

    def _memories(self) -> tuple[float, float]:
        assert self._made.pid is not None
        return memory("VmRSS", os.getpid()), memory("VmRSS", self._made.pid)


async def _measured(trial: Trial) -> Scale:
    build = trial.build()
    deliver = await trial.deliver()
    ours_before, envoy_before, ours, envoy = trial.grown()
    return Scale(
        role=trial.role,
        ports=trial.ports,
        build=build,
        deliver=deliver,
        ours_before=ours_before,
        envoy_before=envoy_before,
        ours=ours,
        envoy=envoy,
        message=trial.message,
        changes=tuple(
            [await trial.change(one) for one in changes(trial.role, trial.ports, SAMPLES)]
        ),
    )


def main() -> None:
    role, ports = sys.argv[1:]
    # What Envoy says is of interest only where nothing is measured.
    logging.basicConfig(level=logging.CRITICAL)
    found = asyncio.run(measure(role, int(ports)))
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
