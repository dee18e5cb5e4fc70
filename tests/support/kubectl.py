"""Finds and runs real kubectl binaries."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.versions import KUBECTL


def found() -> list[Path]:
    """Every kubectl of this machine: the one in PATH and those that the lab has built."""
    installed = shutil.which("kubectl")
    built = sorted(KUBECTL.path.parent.glob("kubectl-v*"))
    return [*([Path(installed)] if installed else []), *built]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One kubectl with a kubeconfig and a home (its discovery cache) of its own."""

    binary: Path
    home: Path

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(str(self.binary), "--kubeconfig", str(self.kubeconfig), *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
        )

    async def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Run a command to its end and return what it printed."""
        process = await self.start(*arguments)
        printed, _ = await process.communicate(stdin.encode())
        text = printed.decode()
        assert (process.returncode != 0) == fails, f"kubectl {' '.join(arguments)}\n{text}"
        return text
