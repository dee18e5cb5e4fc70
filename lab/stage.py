"""A shell beside the lab: commands as they are typed, and waiting for what is seen."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from isthmus.model.wire import Json
from lab.clusters import KUBECONFIG, PROGRAMS, Cluster
from lab.node.boot import contained

T = TypeVar("T")

PATIENCE = 120.0  # seconds; a busy machine needs many of them, and success needs few
BOTH = ("east", "west")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended."""

    command: str
    code: int
    output: str
    errors: str  # what it said beside: progress, warnings, what went wrong

    @property
    def well(self) -> str:
        """What it printed, if it went well."""
        assert self.code == 0, f"$ {self.command}\n{self.all}(exit code {self.code})"
        return self.output

    @property
    def all(self) -> str:
        return self.output + self.errors


@dataclass(frozen=True, slots=True)
class Stage:
    """A shell with the lab's kubeconfig, its kubectl and this checkout's `isthmus`."""

    folder: Path  # where files of a story go, such as its trust anchor
    clusters: tuple[Cluster, ...]

    @property
    def environment(self) -> dict[str, str]:
        """What a command has to know to find its way."""
        programs = f"{PROGRAMS}:{Path(sys.executable).parent}"
        return {
            **os.environ,
            "KUBECONFIG": str(KUBECONFIG),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.folder),  # kubectl keeps what it has discovered there
            "NO_COLOR": "1",
        }

    def shell(self, command: str, *, timeout: float = 300) -> Ran:
        """Type a line, pipes and here-documents included."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ran(command, done.returncode, done.stdout, done.stderr)

    def run(self, *words: str, timeout: float = 300) -> str:
        """Run one command that has to go well."""
        return self.shell(" ".join(map(quoted, words)), timeout=timeout).well

    def kubectl(self, context: str, *words: str) -> str:
        return self.run("kubectl", "--context", context, *words)

    def isthmus(self, context: str, *words: str) -> str:
        return self.run("isthmus", "--context", context, *words)

    def read(self, context: str, *words: str) -> Json:
        """``kubectl get`` as values."""
        return json.loads(self.kubectl(context, "get", *words, "-o", "json"))

    def apply(self, context: str, *objects: Json) -> None:
        """Apply objects as a file of manifests."""
        manifests = self.folder / "manifests.json"
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        self.kubectl(context, "apply", "--server-side", "-f", str(manifests))

    def curl(self, context: str, pod: str, url: str, *options: str) -> Ran:
        """Call from a pod; what goes wrong is part of the answer."""
        words = ("kubectl", "--context", context, "exec", pod, "--", "curl", "-sS", "-m", "5")
        return self.shell(" ".join(map(quoted, (*words, *options, url))))

    def install(self, context: str) -> None:
        """Install Isthmus, or leave an installation as it is; all have one trust anchor."""
        if not (self.folder / "anchor").exists():
            self.run("isthmus", "trust", "create", "--out", "anchor")
        named = ("--cluster-name", context, "--set", f"clusterDomain={context}.cluster.local")
        self.isthmus(context, "install", *named, "--anchor", "anchor", "--apply")

    def connect(self, source: str, target: str) -> None:
        """Let ``source`` import what ``target`` exports."""
        words = ("isthmus", "connect", "--from", source, "--to", target, "--timeout", "5m")
        self.run(*words, "--set", "enableHeadlessServices=true", timeout=400)

    def cluster(self, context: str) -> Cluster:
        return next(one for one in self.clusters if one.name == context)

    def kill(self, context: str, *words: str) -> None:
        """SIGKILL what runs in a pod with these words in its command; it must be there."""
        pids = contained(self.cluster(context), words)
        assert pids, f"nothing in {context} runs {' '.join(words)}"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def names(self, context: str, kind: str, *words: str) -> list[str]:
        found = self.kubectl(context, "get", kind, *words, "-o", "name").split()
        return sorted(name.partition("/")[2] for name in found)


def quoted(word: str) -> str:
    """A word of a command line, quoted only where it has to be: transcripts are read."""
    plain = word and all(letter.isalnum() or letter in "-_./=:,@%+{}*" for letter in word)
    return (
        word
        if plain and "{" not in word and "*" not in word
        else "'" + word.replace("'", "'\\''") + "'"
    )


def until(read: Callable[[], T], ready: Callable[[T], bool], *, within: float = PATIENCE) -> T:
    """Read again and again until ``ready``; on timeout, show what was there instead."""
    deadline = time.monotonic() + within
    while True:
        found = read()
        if ready(found):
            return found
        assert time.monotonic() < deadline, f"not within {within:.0f} s; last seen: {found}"
        time.sleep(0.2)
