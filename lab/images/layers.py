"""The kinds of layers that images are made of, and how each one is made: once, by its content."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from isthmus.model.errors import Permanent
from lab.versions import cache

SUITE = "bookworm"
# Nobody reads manuals in a container; apt's lists are of no use without a network.
WASTE = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache")
KEPT = 14 * 86400  # seconds that a layer is kept after its last use


class LayerFailed(Permanent):
    """A layer of an image could not be made; the text ends with what the tool said."""


class Layer(Protocol):
    def describe(self) -> str:
        """What people are told that it is."""

    def content(self) -> object:
        """All that it is made of: equal content, and equal layers below, make equal layers."""

    def make(self, below: Sequence[Path], root: Path) -> None:
        """Put its files into the empty folder ``root``; ``below`` are the layers under it."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of this machine at places of the image."""

    files: tuple[tuple[str, Path], ...]

    def describe(self) -> str:
        return ", ".join(place for place, _ in self.files)

    def content(self) -> object:
        return [
            (place, hashlib.sha256(path.read_bytes()).hexdigest()) for place, path in self.files
        ]

    def make(self, _below: Sequence[Path], root: Path) -> None:
        for place, source in self.files:
            target = root / place.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


@dataclass(frozen=True, slots=True)
class Debian:
    """The smallest Debian that can install packages."""

    suite: str = SUITE

    def describe(self) -> str:
        return f"Debian {self.suite}"

    def content(self) -> object:
        return [self.suite, WASTE]

    def make(self, _below: Sequence[Path], root: Path) -> None:
        run(["debootstrap", "--variant=minbase", self.suite, str(root)], self.describe())
        _drop_waste(root)


@dataclass(frozen=True, slots=True)
class Packages:
    """Debian's packages, installed on top of what lies below."""

    names: tuple[str, ...]

    def describe(self) -> str:
        return f"packages {' '.join(self.names)}"

    def content(self) -> object:
        return [self.names, WASTE]

    def make(self, below: Sequence[Path], root: Path) -> None:
        # Nothing may be started here, and names have to be found.
        script = f"""
            printf '#!/bin/sh\\nexit 101\\n' > "$root/usr/sbin/policy-rc.d"
            chmod +x "$root/usr/sbin/policy-rc.d"
            cp /etc/resolv.conf "$root/etc/resolv.conf"
            export DEBIAN_FRONTEND=noninteractive
            chroot "$root" apt-get update -q
            chroot "$root" apt-get install -q -y --no-install-recommends {" ".join(self.names)}
            rm "$root/usr/sbin/policy-rc.d" "$root/etc/resolv.conf"
        """
        on_top(below, root, script, self.describe())
        _drop_waste(root)


def on_top(below: Sequence[Path], root: Path, script: str, what: str) -> None:
    """Run a shell script that sees ``below`` at $root, and keep what it changes in ``root``."""
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        lower, merged, work = (Path(temporary, name) for name in ("lower", "merged", "work"))
        for folder in (lower, merged, work):
            folder.mkdir()
        for layer in below:
            run(["tar", "--numeric-owner", "-xpf", str(layer), "-C", str(lower)], what)
        # In a mount namespace of its own: the mounts end with the shell, however it ends.
        mounts = f"""
            set -e
            root={merged}
            mount -t overlay -o lowerdir={lower},upperdir={root},workdir={work} lab "$root"
            mount -t proc proc "$root/proc"
        """
        run(["unshare", "--mount", "sh", "-c", mounts + script], what)
    _say_deletions_as_images_do(root)


def made(layers: Sequence[Layer]) -> list[Path]:
    """The tar files of ``layers``, the lowest first; those that are missing are made."""
    folder = cache() / "layers"
    folder.mkdir(parents=True, exist_ok=True)
    done: list[Path] = []
    key = ""
    for layer in layers:
        described = json.dumps([key, type(layer).__name__, layer.content()])
        key = hashlib.sha256(described.encode()).hexdigest()[:24]
        path = folder / f"{key}.tar"
        if not path.exists():
            _make(layer, done, path)
        path.touch()  # it is in use
        done.append(path)
    _forget_unused(folder)
    return done


def _forget_unused(folder: Path) -> None:
    """Every edit of a source makes a layer; those that nobody asks for any more go."""
    for layer in folder.glob("*.tar"):
        if layer.stat().st_mtime < time.time() - KEPT:
            layer.unlink(missing_ok=True)


def _make(layer: Layer, below: Sequence[Path], path: Path) -> None:
    started = time.monotonic()
    print(f"image layer: {layer.describe()}: started", flush=True)
    # Beside the cache and not in /tmp, which may be small, or in memory.
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        root = Path(temporary, "root")
        root.mkdir(mode=0o755)
        layer.make(below, root)
        unfinished = Path(temporary, "layer.tar")
        run(["tar", "--numeric-owner", "--sort=name", "-cf", str(unfinished), "-C", str(root), "."])
        unfinished.replace(path)
    print(f"image layer: {layer.describe()}: {time.monotonic() - started:.0f} s", flush=True)


def _drop_waste(root: Path) -> None:
    for place in WASTE:
        for path in (root / place).glob("*"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _say_deletions_as_images_do(root: Path) -> None:
    """What the overlay marks as deleted by a device 0:0, images mark by a name."""
    for path in list(root.rglob("*")):
        if path.is_char_device() and path.stat().st_rdev == 0:
            path.unlink()
            path.with_name(f".wh.{path.name}").touch()


def run(command: Sequence[str], what: str = "") -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-5:]
        raise LayerFailed(f"{what or command[0]} failed: {' / '.join(said)}")
