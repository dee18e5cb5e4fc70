"""Finds a Go that can build the lab's programs, or installs one for this purpose only."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from isthmus.model.errors import Permanent
from lab.versions import OLDEST_GO, TOOLCHAIN, cache


class NoToolchain(Permanent):
    """There is no usable Go and none could be installed."""


def go() -> Path:
    """The path of a Go that is new enough; installs one into the cache where there is none."""
    on_path = shutil.which("go")
    if on_path is not None and _version(Path(on_path)) >= OLDEST_GO:
        return Path(on_path)
    home = cache() / "toolchain"
    installed = home / "bin" / "go"
    if not (installed.exists() and _version(installed) >= OLDEST_GO):
        _install(home)
    return installed


def _version(program: Path) -> tuple[int, int]:
    """The version that ``go version`` states; (0, 0) for a program that does not run."""
    try:
        said = subprocess.run(
            [program, "version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"go(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install(home: Path) -> None:
    wanted = ".".join(map(str, OLDEST_GO))
    print(f"no Go {wanted} or newer on PATH: installing one into {home}", flush=True)
    shutil.rmtree(home, ignore_errors=True)
    # The venv is made first and filled second, so that an interrupted installation has no
    # `go` in it and is started afresh the next time.
    pip = [f"{home}/bin/python", "-m", "pip", "--disable-pip-version-check"]
    steps = (
        [sys.executable, "-m", "venv", str(home)],
        [
            *pip,
            "install",
            "--quiet",
            "--only-binary=:all:",
            "--require-hashes",
            "-r",
            str(TOOLCHAIN),
        ],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise NoToolchain(
                f"no Go {wanted} or newer on PATH, and installing it from PyPI failed: "
                f"{' '.join(last)}. Install Go from https://go.dev/dl/ and try again."
            )
