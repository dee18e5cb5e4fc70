"""The supervisor: order, readiness, clear failures, and no process left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.process import DidNotStart, Process, Supervisor


def sleeper(name: str, *, needs: tuple[str, ...] = (), mark: Path | None = None) -> Process:
    """A program that lives until it is told to end, and can leave a mark when it starts."""
    script = f"touch {mark}; exec sleep 60" if mark else "exec sleep 60"
    return Process(
        name=name,
        argv=("/bin/sh", "-c", script),
        ready=lambda: mark is None or mark.exists(),
        needs=needs,
    )


def test_processes_start_after_what_they_need(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    try:
        supervisor.start(
            [
                sleeper("second", needs=("first",), mark=tmp_path / "b"),
                sleeper("first", mark=tmp_path / "a"),
            ]
        )
        marks = [(tmp_path / name).stat().st_mtime_ns for name in "ab"]
        assert marks == sorted(marks)
    finally:
        supervisor.stop_all()


def test_a_missing_need_is_named(tmp_path: Path) -> None:
    with pytest.raises(DidNotStart, match="need one another, or a missing one: lonely"):
        Supervisor(tmp_path).start([sleeper("lonely", needs=("nobody",))])


def test_a_program_that_ends_shows_its_last_words(tmp_path: Path) -> None:
    argv = ("/bin/sh", "-c", "echo the port is taken; exit 3")
    broken = Process(name="broken", argv=argv, ready=lambda: False)
    with pytest.raises(DidNotStart, match=r"(?s)broken ended with 3; .*the port is taken"):
        Supervisor(tmp_path).start([broken])


def test_a_program_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    slow = Process(name="slow", argv=("/bin/sleep", "60"), ready=lambda: False, patience=0.1)
    supervisor = Supervisor(tmp_path)
    try:
        with pytest.raises(DidNotStart, match="slow is not ready after 0 s"):
            supervisor.start([slow])
    finally:
        supervisor.stop_all()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exec sleep 60", id="obedient"),
        pytest.param("trap '' TERM; touch up; while :; do sleep 0.1; done", id="deaf"),
    ],
)
def test_stopping_ends_even_the_deaf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr("lab.process.GRACE", 0.2)
    supervisor = Supervisor(tmp_path)
    ready = (lambda: (tmp_path / "up").exists()) if "trap" in script else (lambda: True)
    supervisor.start([Process(name="it", argv=("/bin/sh", "-c", script), ready=ready)])
    pid = supervisor.pid("it")
    supervisor.stop("it")
    assert not Path(f"/proc/{pid}").exists()


def test_a_paused_process_can_be_stopped(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    supervisor.start([sleeper("it")])
    pid = supervisor.pid("it")
    supervisor.signal("it", signal.SIGSTOP)
    supervisor.stop("it")
    assert not Path(f"/proc/{pid}").exists()


def test_nothing_outlives_a_lab_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import pathlib, signal, sys\n"
        "from lab.process import Process, Supervisor\n"
        "supervisor = Supervisor(pathlib.Path(sys.argv[1]))\n"
        "it = Process(name='it', argv=('/bin/sleep', '60'), ready=lambda: True)\n"
        "supervisor.start([it])\n"
        "print(supervisor.pid('it'), flush=True)\n"
        "signal.pause()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        pid = int(lab.stdout.readline())
        os.kill(pid, 0)  # it lives
        lab.kill()
    deadline = time.monotonic() + 10
    while _lives(pid):
        assert time.monotonic() < deadline, "the process outlived its lab"


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
