"""Another service mirror, given as a command: run on the same clusters, with the same clock.

In a command, ``{source}`` and ``{target}`` stand for the files of both kubeconfigs, ``{cluster}``
for the target's name and ``{folder}`` for a private folder. It is split into words as a shell
would, but no shell runs it. What it needs in the source (definitions, a link of its own kind) a
second command may put there before the clock starts.
"""

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.kernel import family, has_ended, processor_seconds
from bench.meter import memory
from bench.mirroring.clusters import Linked
from bench.trial import Failed
from lab.controlplane import ControlPlane
from lab.process import Process, Supervisor

PREPARING = 120.0  # seconds for what comes before the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Somebody else's mirror."""

    name: str
    command: str
    prepare: str = ""

    def argv(self, command: str, places: Mapping[str, str]) -> tuple[str, ...]:
        """Return the words of ``command`` with what its placeholders stand for."""
        try:
            return tuple(word.format_map(places) for word in shlex.split(command))
        except (KeyError, ValueError, IndexError) as error:
            known = ", ".join(f"{{{place}}}" for place in places)
            raise Failed(f"{self.name}: {error} in its command; it may have {known}") from None


def peers(commands: Sequence[str], preparations: Sequence[str]) -> tuple[Peer, ...]:
    """Read what was given as NAME=COMMAND; a preparation belongs to the peer of its name."""
    before = dict(map(_named, preparations))
    found = tuple(
        Peer(name=name, command=command, prepare=before.pop(name, ""))
        for name, command in map(_named, commands)
    )
    if before:
        raise Failed(f"there is no peer {', '.join(before)} to prepare for")
    return found


def _named(text: str) -> tuple[str, str]:
    name, sign, command = text.partition("=")
    if not (name and sign and command.strip()):
        raise Failed(f"{text!r} is not NAME=COMMAND")
    return name, command


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A peer that was started, with all processes that it has started."""

    pid: int
    log: Path

    def complain_if_ended(self) -> None:
        if has_ended(self.pid):
            raise Failed(f"has ended: {self.log.read_text(errors='replace')[-300:].strip()}")

    def cpu(self) -> float:
        return sum(map(processor_seconds, family(self.pid)))

    def memory(self, field: str) -> float:
        return sum(memory(field, pid) for pid in family(self.pid))


@contextmanager
def running(peer: Peer, east: ControlPlane, target: Linked, folder: Path) -> Iterator[Running]:
    """Prepare for a peer and start it; end it when the context ends."""
    places = {"folder": str(folder), "cluster": target.name}
    for place, config in (("source", east.kubeconfig()), ("target", target.kubeconfig)):
        path = folder / f"{place}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))
        places[place] = str(path)
    if peer.prepare:
        _prepare(peer, peer.argv(peer.prepare, places))
    supervisor = Supervisor(logs=folder)
    log = folder / "peer.log"
    log.unlink(missing_ok=True)
    argv = peer.argv(peer.command, places)
    supervisor.launch(Process(name="peer", argv=argv, ready=lambda: True))
    try:
        yield Running(pid=supervisor.pid("peer"), log=log)
    finally:
        supervisor.stop_all()


def _prepare(peer: Peer, argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PREPARING)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{peer.name}: its preparation failed: {error}") from None
    if done.returncode != 0:
        why = (done.stderr.strip() or done.stdout.strip())[-300:]
        raise Failed(f"{peer.name}: its preparation failed: {why}")
