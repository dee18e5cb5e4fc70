"""Carries out what the demo types: the very line that is shown, and nothing else."""

import asyncio
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from isthmus.cli.showing.kubectl import Kubectl, NotUnderstood
from isthmus.cli.showing.stage import Outcome
from isthmus.embedded.api.executing import Output

_TOLD = {"NO_COLOR": "1", "PYTHONUTF8": "1"}  # its output is read here, whatever the terminal is


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands in the folder of ``kubectl``, for the clusters of ``kubeconfig``."""

    kubectl: Kubectl
    kubeconfig: Path

    async def run(self, line: str) -> Outcome:
        """Run commands that may be joined by pipes, and written in several lines."""
        printed, said, code = "", "", 0
        for part in line.replace("\\\n", " ").split(" | "):
            output = await self._command(shlex.split(part), printed)
            printed, said, code = output.out, said + output.err, code or output.code
        return Outcome((said + printed).rstrip(), code)

    async def _command(self, words: list[str], stdin: str) -> Output:
        match words:
            case ["cat", file]:
                return Output((self.kubectl.folder / file).read_text())
            case ["tail", "-n", count]:
                return Output("\n".join(stdin.splitlines()[-int(count) :]))
            case ["kubectl", *rest]:
                return await self.kubectl.run(rest, stdin)
            case ["isthmus", *rest]:
                return await self._isthmus(rest)
        raise NotUnderstood(f"the demo does not know {shlex.join(words)!r}")

    async def _isthmus(self, words: list[str]) -> Output:
        """Run our own command as a process of its own."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus", *words),
            cwd=self.kubectl.folder,
            env={**os.environ, **_TOLD, "KUBECONFIG": str(self.kubeconfig)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await child.communicate()
        except BaseException:
            if child.returncode is None:
                child.kill()
                await child.wait()
            raise
        return Output(out.decode(), err.decode(errors="replace"), child.returncode or 0)
