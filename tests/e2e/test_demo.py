"""The demo as a user runs it: as a process, by its kubeconfig, with real kubectl if found."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import kubectl

pytestmark = pytest.mark.e2e

ISTHMUS = Path(sys.executable).with_name("isthmus")
PATIENCE = 60.0  # seconds for a demo to be ready


@dataclass(frozen=True, slots=True)
class Demo:
    process: "subprocess.Popen[str]"
    kubeconfig: Path

    def run(self, *command: str | Path) -> str:
        """Run a command as if typed beside the demo; return what it printed."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def demo(folder: Path, *, temporary: bool = False) -> Iterator[Demo]:
    """Start a demo that stays, wait until it says so, and end it as Ctrl-C would."""
    where = () if temporary else ("--directory", folder)
    environment = {**os.environ, "TMPDIR": str(folder)} if temporary else None
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
        process.communicate(timeout=30)


def test_both_clusters_answer_and_know_who_they_are(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as running:
        identities = set()
        for context in ("east", "west"):
            checked = running.run(ISTHMUS, "--context", context, "check")
            identities |= set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", checked))
        assert len(identities) == 2, "two clusters, two identities"


def test_two_demos_run_side_by_side_and_one_dies(tmp_path: Path) -> None:
    with demo(tmp_path / "first") as first, demo(tmp_path / "second") as second:
        first.process.kill()
        first.process.wait(timeout=10)
        second.run(ISTHMUS, "--context", "west", "check")
    assert second.process.returncode == 0


def test_what_a_killed_demo_leaves_behind_goes_with_the_next_one(tmp_path: Path) -> None:
    with demo(tmp_path, temporary=True) as first:
        (left,) = tmp_path.iterdir()
        first.process.kill()
        first.process.wait(timeout=10)
        assert (left / "kubeconfig").stat().st_mode & 0o077 == 0
        with demo(tmp_path, temporary=True):
            assert not left.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not kubectl.found(), reason="no kubectl on this machine")
def test_kubectl_exports_a_service_and_sees_its_mirrors_come_and_go(tmp_path: Path) -> None:
    binary = kubectl.found()[-1]
    with demo(tmp_path / "demo") as running:
        west = (binary, "--context", "west")
        running.run(*west, "label", "service", "nginx-svc", "mirror.linkerd.io/exported=true")
        labelled = running.run(*west, "get", "services", "-l", "mirror.linkerd.io/exported=true")
        assert re.search(r"^nginx-svc +ClusterIP +None +<none> +80/TCP", labelled, re.MULTILINE)
        east = (binary, "--context", "east")
        for mirror in ("nginx-svc-west", "nginx-set-0-west", "nginx-set-4-west"):
            running.run(*east, "wait", "--for=create", f"service/{mirror}", "--timeout=30s")
        running.run(*west, "delete", "service", "nginx-svc")
        for mirror in ("nginx-svc-west", "nginx-set-0-west", "nginx-set-4-west"):
            running.run(*east, "wait", "--for=delete", f"service/{mirror}", "--timeout=30s")
