"""Runs the lab's programs: in order, watched until ready, and never longer than the lab itself."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.model.errors import Permanent

LIBC = ctypes.CDLL(None)  # loaded here: the child may not load anything between fork and exec
PR_SET_PDEATHSIG = 1
GRACE = 2.0  # seconds between SIGTERM and SIGKILL


class DidNotStart(Permanent):
    """A program of the lab ended, or was not ready in time. The text quotes its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A program to run: what it needs to be ready before it, and how to see that it is ready."""

    name: str
    argv: tuple[str, ...]
    ready: Callable[[], bool]
    needs: tuple[str, ...] = ()
    patience: float = 90.0  # seconds until ready; a busy machine needs many of them


@dataclass(slots=True)
class Supervisor:
    """Starts and stops processes; each one writes its log to ``logs/<name>.log``."""

    logs: Path
    _running: dict[str, tuple[Process, subprocess.Popen[bytes]]] = field(default_factory=dict)

    def start(self, processes: Iterable[Process]) -> None:
        """Start every process after those it needs; return when all are ready."""
        waiting = list(processes)
        while waiting:
            able = [p for p in waiting if all(need in self._running for need in p.needs)]
            if not able:
                names = ", ".join(process.name for process in waiting)
                raise DidNotStart(f"these processes need one another, or a missing one: {names}")
            for process in able:
                self.launch(process)
                self.wait(process.name)
                waiting.remove(process)

    def stop(self, name: str) -> None:
        """End one process: SIGTERM, then SIGKILL for one that does not listen."""
        _, child = self._running.pop(name)
        for number in (signal.SIGTERM, signal.SIGCONT):  # a paused process hears nothing
            child.send_signal(number)
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def stop_all(self) -> None:
        """End everything, those started last first."""
        for name in reversed(list(self._running)):
            self.stop(name)

    def crash(self, name: str) -> Process:
        """End one process the hard way, as a lost machine would; return it for a new start."""
        process, child = self._running.pop(name)
        child.kill()
        child.wait()
        return process

    def is_alive(self, name: str) -> bool:
        return name in self._running and self._running[name][1].poll() is None

    def pid(self, name: str) -> int:
        return self._running[name][1].pid

    def signal(self, name: str, number: signal.Signals) -> None:
        self._running[name][1].send_signal(number)

    def launch(self, process: Process) -> None:
        """Start one process and return at once.

        The kernel ends the process with the *thread* that calls this: let it be the main one.
        """
        with self._log(process.name).open("ab") as output:
            child = subprocess.Popen(
                process.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.logs,
                preexec_fn=_die_with(os.getpid()),
            )
        self._running[process.name] = (process, child)

    def wait(self, name: str) -> None:
        """Return when a launched process is ready."""
        process, child = self._running[name]
        deadline = time.monotonic() + process.patience
        while not process.ready():
            if child.poll() is not None:
                raise DidNotStart(f"{name} ended with {child.returncode}; {self._end_of_log(name)}")
            if time.monotonic() > deadline:
                waited = f"{process.patience:.0f} s"
                raise DidNotStart(f"{name} is not ready after {waited}; {self._end_of_log(name)}")
            time.sleep(0.02)

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _end_of_log(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join(["its log ends:", *lines[-15:]])


def _die_with(parent: int) -> Callable[[], None]:
    """Let the kernel kill the child when we die, even by SIGKILL."""

    def arrange() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # we died before the line above took effect
            os._exit(1)

    return arrange
