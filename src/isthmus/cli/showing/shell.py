"""Carries out what the demo types: the very line that is shown, and nothing else."""

import asyncio
import os
import shlex
import sys
from dataclasses import dataclass

from isthmus.cli.showing.calling import call
from isthmus.cli.showing.kubectl import Kubectl, NotUnderstood
from isthmus.model.errors import Permanent


class Failed(Permanent):
    """A command has ended with another code than 0."""


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands in the folder of ``kubectl``."""

    kubectl: Kubectl

    async def run(self, line: str) -> str:
        """Return all that a line of commands prints."""
        typed, _, after = line.partition(" | ")
        words = shlex.split(typed)
        match words:
            case ["cat", file]:
                return (self.kubectl.folder / file).read_text().rstrip()
            case ["kubectl", *rest]:
                return await self.kubectl.run(rest)
            case ["isthmus", "demo", "call", pod, url]:
                return await self._called(pod, url)
            case ["isthmus", *rest]:
                printed, said = await self._isthmus(rest)
                if not after:
                    return (said + printed).rstrip()
                _, *rest = shlex.split(after)
                return said + await self.kubectl.run(rest, printed)
        raise NotUnderstood(f"the demo does not know {typed!r}")

    async def _called(self, pod: str, url: str) -> str:
        try:
            return str(await call(self.kubectl.clients, pod, url))
        except Permanent as error:
            return f"isthmus: {error}"

    async def _isthmus(self, words: list[str]) -> tuple[str, str]:
        """Run our own command as a process of its own."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus", *words),
            cwd=self.kubectl.folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            printed, said = await child.communicate()
        except BaseException:
            if child.returncode is None:
                child.kill()
                await child.wait()
            raise
        if child.returncode:
            raise Failed(f"isthmus {shlex.join(words)}: {said.decode(errors='replace').rstrip()}")
        return printed.decode(), said.decode()
