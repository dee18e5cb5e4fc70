"""The controller as people run it: a process with a kubeconfig, watched from outside."""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

from bench.kernel import has_ended
from bench.trial import Failed
from lab.claims import free_ports
from lab.controlplane import ControlPlane
from lab.process import Process, Supervisor

NAME = "controller"
CONNECTED = re.compile(r"^isthmus_link_connected\{[^}]*\} 1\.0$", re.M)
PROGRAM = Path(sys.executable).with_name("isthmus")
LOOK = 0.1  # seconds between two looks; each one costs those who are measured a little


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A controller that was started."""

    pid: int
    started: float  # seconds since the epoch
    log: Path
    admin: str

    def until(
        self,
        what: str,
        is_so: Callable[[], bool],
        within: float,
        rest: Callable[[], float] = lambda: LOOK,
    ) -> float:
        """Wait, looking again after each ``rest``; return how long after its start it was so."""
        while not is_so():
            if has_ended(self.pid):
                raise Failed(f"the controller has ended: {self.log.read_text()[-500:]}")
            if time.time() > self.started + within:
                raise Failed(f"not {what} after {within:.0f} s: {self.log.read_text()[-500:]}")
            time.sleep(rest())
        return time.time() - self.started

    def leading(self) -> float:
        """Return how many seconds after its start it led, as its log says; 0 if it does not."""
        for line in self.log.read_text().splitlines():
            if line.startswith("{") and (said := json.loads(line))["message"] == "leading":
                return datetime.fromisoformat(said["ts"]).timestamp() - self.started
        return 0.0

    def is_ready(self) -> bool:
        return bool(self._page("/readyz"))

    def has_settled(self) -> bool:
        """Tell whether it leads, sees a target, and has nothing left to plan."""
        said = self._page("/metrics")
        return (
            "isthmus_leading 1.0" in said
            and CONNECTED.search(said) is not None
            and "isthmus_queue_depth 0.0" in said
        )

    def _page(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"{self.admin}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return ""


@contextmanager
def controller(east: ControlPlane, folder: Path) -> Iterator[Running]:
    """Start a controller; end it, in good order, when the context ends."""
    config = folder / "east.yaml"
    config.touch(mode=0o600)
    config.write_text(yaml.safe_dump(east.kubeconfig()))
    log = folder / f"{NAME}.log"
    log.unlink(missing_ok=True)
    supervisor = Supervisor(logs=folder)
    with free_ports(1) as (port,):
        argv = (
            *(str(PROGRAM), "controller", "--kubeconfig", str(config), "--cluster-name", "east"),
            *("--allow-loopback", "--admin-port", str(port), "--log-format", "json"),
        )
        started = time.time()
        supervisor.launch(Process(name=NAME, argv=argv, ready=lambda: True))
        try:
            pid = supervisor.pid(NAME)
            yield Running(pid=pid, started=started, log=log, admin=f"http://127.0.0.1:{port}")
        finally:
            supervisor.stop_all()
