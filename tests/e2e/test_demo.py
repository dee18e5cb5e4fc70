"""The demo as a user runs it: as a process, by its kubeconfig, with real kubectl if found."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from isthmus.cli.where import Where
from isthmus.embedded.machine.objects import PLAIN_PODS
from isthmus.kube.requests import Selection
from tests.support import kubectl
from tests.support.processes import children, processes_in

pytestmark = pytest.mark.e2e

ISTHMUS = Path(sys.executable).with_name("isthmus")
PATIENCE = 120.0  # seconds for a demo to be ready
MIRRORS = ("nginx-svc-west", "nginx-set-0-west", "nginx-set-4-west")


@pytest.fixture(autouse=True)
def closing_a_terminal_means_something() -> Iterator[None]:
    """Whoever runs the tests under nohup would have the demo ignore it as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@dataclass(frozen=True, slots=True)
class Demo:
    process: "subprocess.Popen[str]"
    kubeconfig: Path

    def run(self, *command: str | Path, attempts: int = 1) -> str:
        """Run a command as if typed beside the demo; return what it printed."""
        done = self._ran(command)
        while done.returncode != 0 and attempts > 1:
            attempts -= 1
            done = self._ran(command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def processes(self, cluster: str, name: str) -> list[int]:
        """The processes of one of our own workloads."""
        role = "controller" if name == "controller" else f"proxy --role {name}"
        start = f"-m isthmus {role} --cluster-name {cluster} "
        return [
            number
            for number, line in children(self.process.pid).items()
            if start in line and "leash" not in line
        ]

    async def restarts(self, cluster: str, name: str) -> int:
        """How often the one container of a workload was started again, if it is ready."""
        async with Where(str(self.kubeconfig), cluster).connected() as client:
            labels = f"app.kubernetes.io/name=isthmus-{name}"
            found = await client.list(PLAIN_PODS, Selection(namespace="isthmus", labels=labels))
        ((status,),) = (one["status"]["containerStatuses"] for one in found.objects)
        return int(status["restartCount"]) if status["ready"] else 0

    def _ran(self, command: Sequence[str | Path]) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1"}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )


@contextmanager
def demo(folder: Path, *, temporary: bool = False) -> Iterator[Demo]:
    """Start a demo that stays, wait until it says so, and end it as Ctrl-C would."""
    where = () if temporary else ("--directory", folder)
    environment = {**os.environ, "TMPDIR": str(folder if temporary else folder.parent)}
    process = subprocess.Popen(
        [ISTHMUS, "demo", "--stay", *where], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    # One that hangs is killed, which ends its output, and with it the loop.
    too_late = threading.Timer(PATIENCE, process.kill)
    too_late.start()
    try:
        seen = ""
        while "until Ctrl-C" not in seen:
            line = process.stdout.readline()
            assert line, f"the demo ended early:\n{seen}"
            seen += line
        too_late.cancel()
        yield Demo(process, folder / "kubeconfig")
    finally:
        too_late.cancel()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo(tmp_path_factory.mktemp("demo") / "chosen") as made:
        yield made


def test_both_clusters_answer_and_know_who_they_are(running: Demo) -> None:
    identities = set()
    for context in ("east", "west"):
        checked = running.run(ISTHMUS, "--context", context, "check", "--wait", "60")
        identities |= set(re.findall(r"\(UID ([0-9a-f-]{36})\)", checked))
    assert len(identities) == 2, "two clusters, two identities"


@pytest.mark.parametrize("name", ["controller", "gateway"])
def test_what_is_killed_comes_back_and_is_counted(running: Demo, name: str) -> None:
    healthy = (ISTHMUS, "--context", "west", "check", "--wait", "60", "-o", "short")
    running.run(*healthy)
    (number,) = running.processes("west", name)
    os.kill(number, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while asyncio.run(running.restarts("west", name)) != 1:
        assert time.monotonic() < deadline
    running.run(*healthy)
    (after,) = running.processes("west", name)
    assert after != number


def test_of_two_demos_one_is_killed_and_the_other_stays_until_it_is_told_to_end(
    tmp_path: Path,
) -> None:
    with demo(tmp_path, temporary=True) as first, demo(tmp_path / "chosen") as second:
        (left,) = (one.parent for one in tmp_path.glob("*/kubeconfig") if one != second.kubeconfig)
        assert processes_in(left), "controllers, gateways and egresses"
        for private in (left, left / "kubeconfig", second.kubeconfig):
            assert private.stat().st_mode & 0o077 == 0
        first.process.kill()
        first.process.wait(timeout=10)
        second.run(ISTHMUS, "--context", "west", "check", "--wait", "60")
        assert processes_in(left) == [], "they end with whoever started them"
        with begun(tmp_path) as third:
            assert not left.exists(), "what is left of the dead goes when the next one comes"
            third.kill()
        # As when the terminal is closed.
        second.process.send_signal(signal.SIGHUP)
        rest, _ = second.process.communicate(timeout=60)
        assert (second.process.returncode, "gone" in rest) == (0, True)
        assert list(second.kubeconfig.parent.iterdir()) == []
    with begun(tmp_path) as last:
        last.send_signal(signal.SIGTERM)
        last.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == [second.kubeconfig.parent]
    assert processes_in(tmp_path) == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name
)
def test_a_story_that_is_broken_off_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with begun(tmp_path, until="get pods") as process:
        assert processes_in(tmp_path)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []


@contextmanager
def begun(folder: Path, until: str = "trust create") -> Iterator["subprocess.Popen[str]"]:
    """A demo in the middle of its story, as soon as it types what is named."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        [ISTHMUS, "demo"], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        while until not in (line := process.stdout.readline()):
            assert line, "the demo ended early"
        yield process


@pytest.mark.skipif(not kubectl.found(), reason="no kubectl on this machine")
def test_kubectl_exports_a_service_and_its_pods_can_be_called_by_name(running: Demo) -> None:
    binary = kubectl.found()[-1]
    east, west = ((binary, "--context", name) for name in ("east", "west"))
    running.run(*west, "label", "service", "nginx-svc", "mirror.linkerd.io/exported-")
    for mirror in MIRRORS:
        running.run(*east, "wait", "--for=delete", f"service/{mirror}", "--timeout=30s")
    running.run(*west, "label", "service", "nginx-svc", "mirror.linkerd.io/exported=true")
    labelled = running.run(*west, "get", "services", "-l", "mirror.linkerd.io/exported=true")
    assert re.search(r"^nginx-svc +ClusterIP +None +<none> +80/TCP", labelled, re.MULTILINE)
    for mirror in MIRRORS:
        running.run(*east, "wait", "--for=create", f"service/{mirror}", "--timeout=30s")
    # A mirror is there a moment before the egress listens for it.
    call = ("curl", "-s", "http://nginx-set-4.nginx-svc-west")
    for inside in ((ISTHMUS, "demo", "exec", "east/curl"), (*east, "exec", "curl")):
        answer = running.run(*inside, "--", *call, attempts=20)
        assert answer.startswith("Welcome, this is nginx-set-4\n")
    running.run(*west, "delete", "service", "nginx-svc")
    for mirror in MIRRORS:
        running.run(*east, "wait", "--for=delete", f"service/{mirror}", "--timeout=30s")
