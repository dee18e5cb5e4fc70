"""From nothing to everything mirrored: by the controller, by the floor, and by other mirrors."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.kernel import Theft, processor_seconds
from bench.meter import memory
from bench.mirroring import peer
from bench.mirroring.clusters import Linked, named, server, source, stored
from bench.mirroring.controller import LOOK, controller
from bench.mirroring.figures import Round, Sync
from bench.mirroring.floor import Cost, Job, Post
from bench.mirroring.looks import Looks
from bench.mirroring.peer import Peer
from bench.mirroring.replay import written
from bench.trial import Failed, in_turn, run
from lab.controlplane import ControlPlane
from lab.versions import API_SERVER, ETCD_SERVER

# Where etcd has them.
SERVICES, ENDPOINTS, SLICES = "services/specs", "services/endpoints", "endpointslices"
SETTLE = 2.0  # seconds until what is kept in memory is looked at


def patience(mirrors: int) -> float:
    """Return how many seconds so many mirrors may take: ten times what they should."""
    return 120 + mirrors / 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Targets that export what becomes so many mirrors, and a private folder."""

    targets: tuple[Linked, ...]
    mirrors: int
    folder: Path
    pods: int = 0  # of one headless Service, whose mirror names the mirrors of all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How many objects a source has when everything is mirrored.

    To look costs an API server nothing, and etcd little; but little things add up.
    """

    mirrors: int
    services: int
    slices: int
    endpoints: int  # in the older way of saying them, which other mirrors may prefer

    def looks(self, east: ControlPlane, *, somehow: bool = False) -> Looks:
        """Look at how much of it is there; ``somehow``: said in the older way, too."""

        def share() -> float:
            said = stored(east, SLICES) - self.slices
            if somehow:
                said += stored(east, ENDPOINTS) - self.endpoints
            if said >= self.mirrors:  # what is written first is counted last
                said = stored(east, SERVICES) - self.services
            return said / self.mirrors

        return Looks(share)


def wanted(east: ControlPlane, mirrors: int) -> Wanted:
    return Wanted(
        mirrors=mirrors,
        services=stored(east, SERVICES),
        slices=stored(east, SLICES),
        endpoints=stored(east, ENDPOINTS),
    )


class Account:
    """What a control plane, and the machine's host, have spent from now on."""

    def __init__(self, east: ControlPlane) -> None:
        self._pids = [east.supervisor.pid(one.name) for one in (API_SERVER, ETCD_SERVER)]
        self._before = self._spent()
        self._theft = Theft()

    def settled(self, sync: Sync) -> Sync:
        """Return ``sync`` with what it has cost others."""
        passed = zip(self._spent(), self._before, strict=True)
        server, etcd = (now - before for now, before in passed)
        return replace(sync, server_cpu=server, yard=etcd, stolen=self._theft.share())

    def _spent(self) -> list[float]:
        return [processor_seconds(pid) for pid in self._pids]


class Cold:
    """Measures all sides in turn. The floor writes what the controller has written first."""

    def __init__(
        self, trial: Trial, peers: Sequence[Peer] = (), groups: tuple[tuple[Post, ...], ...] = ()
    ) -> None:
        self._trial = trial
        self._peers = peers
        self.groups = groups  # what was written, and is to be written again
        self.missing: dict[str, str] = {}

    def rounds(self, count: int) -> tuple[Round, ...]:
        """Measure so many rounds, and more of them as long as the machine's host disturbs some:
        almost twice as many at most, and a single one is taken as it is.
        """
        found: list[Round] = []
        while len(found) < 2 * count - 1:
            if sum(one.is_calm for one in found) == count:
                break
            found.append(self._round(len(found)))
        return tuple(found)

    def _round(self, number: int) -> Round:
        load = os.getloadavg()[0]
        sides: list[Callable[[], Sync]] = [self.ours, self.floor]
        # Each goes first every other time; in the first round the floor has nothing to write yet.
        first, second = (side() for side in (sides if number % 2 == 0 else sides[::-1]))
        ours, floor = (first, second) if number % 2 == 0 else (second, first)
        return Round(ours=ours, floor=floor, load=load, peers=self._others(number))

    def _others(self, number: int) -> Mapping[str, Sync]:
        found = {}
        for one in list(in_turn(self._peers, number + 1))[-len(self._peers) :]:
            if one.name not in self.missing:
                try:
                    found[one.name] = self.other(one)
                except Failed as error:
                    self.missing[one.name] = str(error)
        return found

    def ours(self) -> Sync:
        """Run the controller until everything is mirrored."""
        trial = self._trial
        with source(trial.targets) as east:
            all_of_it = wanted(east, trial.mirrors)
            account = Account(east)
            with controller(east, trial.folder) as running:
                looks = all_of_it.looks(east)
                is_asked = not trial.mirrors  # whether there is nothing that could be counted

                def is_done() -> bool:
                    if is_asked:
                        return running.has_settled()
                    return looks.is_over() and (not trial.pods or named(east) == trial.pods)

                wall = running.until(
                    "everything mirrored",
                    is_done,
                    patience(trial.mirrors),
                    rest=lambda: LOOK if is_asked or trial.pods else looks.left,
                )
                cpu = processor_seconds(running.pid)
                sync = account.settled(Sync(wall=wall, leading=running.leading(), cpu=cpu))
                time.sleep(SETTLE)
                sync = replace(
                    sync, peak=memory("VmHWM", running.pid), kept=memory("VmRSS", running.pid)
                )
            self.groups = asyncio.run(written(east))
        if len(self.groups) != trial.mirrors:
            raise Failed(f"there are {len(self.groups)} mirrors, and not {trial.mirrors}")
        return sync

    def floor(self) -> Sync:
        """Let the bare client write the same."""
        trial = self._trial
        with source(trial.targets) as east:
            job = Job(east=server(east), groups=self.groups)
            path = trial.folder / "write.json"
            path.touch(mode=0o600)
            path.write_bytes(msgspec.json.encode(job))
            account = Account(east)
            command = [sys.executable, "-m", "bench.mirroring.floor", "write", str(path)]
            started = time.monotonic()
            said = run(command, patience=patience(trial.mirrors))
            wall = time.monotonic() - started
            cost = msgspec.json.decode(said, type=Cost)
            leading = wall - cost.wall
            return account.settled(Sync(wall=wall, leading=leading, cpu=cost.cpu, peak=cost.peak))

    def other(self, other: Peer) -> Sync:
        """Let another mirror do it, however long it takes, within reason."""
        trial = self._trial
        with source(trial.targets) as east:
            all_of_it = wanted(east, trial.mirrors)
            with peer.running(other, east, trial.targets[0], trial.folder) as running:
                account, started = Account(east), time.monotonic()
                looks = all_of_it.looks(east, somehow=True)
                looks.wait(10 * patience(trial.mirrors), running.complain_if_ended)
                wall = time.monotonic() - started
                sync = account.settled(Sync(wall=wall, cpu=running.cpu()))
                time.sleep(SETTLE)
                return replace(sync, peak=running.memory("VmHWM"), kept=running.memory("VmRSS"))
