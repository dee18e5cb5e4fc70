"""Builds the lab's programs from source, once, into a cache that every checkout shares."""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from isthmus.model.errors import Permanent
from lab.toolchain import go
from lab.versions import MODULES, Binary

HEARTBEAT = 15.0  # seconds between two signs of life of a long build
ROOM = 6 * 1024**3  # bytes: modules, Go's build cache and the programs themselves
HINTS = (  # what Go says, and what to do about it
    (("no space left on device",), "free some disk space and try again"),
    (
        ("dial tcp", "no such host", "i/o timeout", "connection refused", "TLS handshake"),
        "the Go module proxy cannot be reached: check the network, or set GOPROXY",
    ),
    (("checksum mismatch", "SECURITY ERROR"), "a module is not the one go.sum expects: stop here"),
    (("signal: killed",), "the machine ran out of memory: close something and try again"),
)


class BuildFailed(Permanent):
    """A program could not be built; the text says which, and what may help."""


def build(binaries: Sequence[Binary]) -> None:
    """Make sure that every one of ``binaries`` is in the cache."""
    if all(binary.is_built for binary in binaries):
        return
    started = time.monotonic()
    folder = binaries[0].path.parent
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / ".lock", started):
        # Another build may have made some of them while this one waited for the lock.
        missing = [binary for binary in binaries if not binary.is_built]
        if not missing:
            return
        _check_room(folder)
        program = go()
        print(f"building {', '.join(b.name for b in missing)}: minutes, once", flush=True)
        for binary in missing:
            _build(binary, program, started)


@contextmanager
def _alone(lock: Path, started: float) -> Iterator[None]:
    """Hold ``lock``, so that two builds do not do the same work side by side."""
    with lock.open("w") as file:
        next_sign = 0.0
        while not _locked(file):
            if time.monotonic() >= next_sign:
                _say(started, "another build is under way: waiting for it")
                next_sign = time.monotonic() + HEARTBEAT
            time.sleep(0.5)
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise BuildFailed(
            f"{folder}: {free / 1024**3:.1f} GiB free, building needs {ROOM / 1024**3:.0f}; "
            "free some disk space, or point XDG_CACHE_HOME at a larger disk"
        )


def _build(binary: Binary, program: Path, started: float) -> None:
    unfinished = binary.path.with_name(f".{binary.path.name}.{os.getpid()}")
    stamps = " ".join(f"-X {name}={value}" for name, value in binary.variables)
    command = [str(program), "build", "-trimpath", f"-ldflags=-s -w {stamps}".strip()]
    command += ["-o", str(unfinished), binary.package]
    environment = {
        "GOTOOLCHAIN": "local",  # never download another Go behind our back …
        **os.environ,  # … unless the user has asked for it
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
    }
    began = time.monotonic()
    _say(started, f"{binary.name} {binary.version}: started")
    try:
        said = _run(command, MODULES / binary.module, environment, (binary, started))
        if said is not None:
            raise BuildFailed(f"building {binary.name} {binary.version} failed: {_reason(said)}")
        # The rename is atomic: a name in the cache always stands for a complete program.
        unfinished.replace(binary.path)
    finally:
        unfinished.unlink(missing_ok=True)
    _say(started, f"{binary.name} {binary.version}: built in {time.monotonic() - began:.0f} s")


def _run(
    command: list[str], folder: Path, environment: dict[str, str], whose: tuple[Binary, float]
) -> str | None:
    """Run ``command`` with signs of life; None when it went well, else what it said."""
    binary, started = whose
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        said = ""
        try:
            while True:
                try:
                    said, _ = child.communicate(timeout=HEARTBEAT)
                    break
                except subprocess.TimeoutExpired:
                    _say(started, f"{binary.name} {binary.version}: still building")
        except BaseException:  # Ctrl-C above all: do not leave a compiler running behind us.
            child.terminate()
            raise
    return None if child.returncode == 0 else said


def _reason(said: str) -> str:
    """The telling line of Go's output, and a hint where we know one."""
    lines = [line for line in said.splitlines() if line and not line.startswith("go: download")]
    last = " / ".join(lines[-3:]) or "go said nothing"
    for signs, hint in HINTS:
        if any(sign in said for sign in signs):
            return f"{last} ({hint})"
    return last


def _say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:4.0f} s] {text}", flush=True)
