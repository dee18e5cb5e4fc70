"""Installs the peers into a venv of their own, so that the project's stays free of them."""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "bench" / "requirements.lock"
VENV = ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
READY = VENV / ".ready"  # holds the digest of the lock file that was installed


def install() -> str | None:
    """Make sure that the peers of the lock file are there; else say why they are not."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if READY.exists() and READY.read_text() == digest:
        return None
    print(f"installing the peers into {VENV.name} (once, about a minute)", flush=True)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        [
            *(str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
            *("--require-hashes", "-r", str(LOCK)),
        ],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            return f"could not be installed: {' '.join(last)}"
    READY.write_text(digest)
    return None


def versions(packages: frozenset[str]) -> dict[str, str]:
    """Return the installed version of each of ``packages``."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names = sorted(packages)
    said = subprocess.run(
        [PYTHON, "-c", code, *names], capture_output=True, text=True, check=True
    ).stdout
    return dict(zip(names, said.split(), strict=True))
