"""Our own workloads as the commands that users have, each a process of its own.

The kernel ends them when whoever started them is gone, however that went.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from isthmus.apps.proxy.config import Config
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.programs import Site
from isthmus.embedded.mesh.waiting import is_ready, until
from isthmus.model.errors import Transient
from isthmus.runtime.children import end

ADMIN = 9990
_END = 10.0  # seconds to end in good order


class Ended(Transient):
    """A command has ended although nobody wanted it to."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs the commands of one cluster, which ``kubeconfig`` has a context for.

    What they say goes to a file for each in ``logs``, or to our own standard error.
    """

    cluster: Cluster
    kubeconfig: Path
    logs: Path | None

    @asynccontextmanager
    async def controller(self, site: Site) -> AsyncIterator[None]:
        """Run ``isthmus controller`` at the pod's address."""
        name = self.cluster.name
        words = [
            *("controller", "--kubeconfig", str(self.kubeconfig), "--context", name),
            *("--cluster-name", name, "--cluster-domain", self.cluster.domain),
            *("--name", site.hostname),
            *("--address", site.address, "--admin-port", str(ADMIN), "--allow-loopback"),
        ]
        async with self._running("controller", words) as child:
            url = f"http://{site.address}:{ADMIN}/readyz"
            await until(partial(_healthy, child, url), f"the controller of {name}")
            yield

    @asynccontextmanager
    async def proxy(self, config: Config, _site: Site) -> AsyncIterator[None]:
        """Run ``isthmus proxy`` as ``config`` says."""
        words = [
            *("proxy", "--role", config.role, "--cluster-name", config.cluster_name),
            *("--controller", _place(config.controller), "--ads", _place(config.ads)),
            *("--token-file", str(config.token_file), "--trust-file", str(config.trust_file)),
            *("--directory", str(config.directory), "--name", config.name),
            *("--address", config.address, "--metrics", _place(config.metrics)),
            *("--concurrency", str(config.concurrency)),
            *("--drain", f"{config.drain:g}", "--linger", f"{config.linger:g}"),
        ]
        async with self._running(config.role, words):
            yield

    @asynccontextmanager
    async def _running(
        self, what: str, words: list[str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        log = os.open(os.devnull if self.logs is None else self._log(what), _APPEND, 0o600)
        try:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "isthmus.envoy.leash", str(os.getpid())),
                *(sys.executable, "-m", "isthmus", *words, "--log-format", "text"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=None if self.logs is None else log,
                process_group=0,  # Ctrl-C is for us, who end it in good order
            )
        finally:
            os.close(log)
        try:
            yield child
        finally:
            await end(child, _END)

    def _log(self, what: str) -> str:
        return f"{self.logs}/{self.cluster.name}-{what}.log"


_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def _place(place: tuple[str, int]) -> str:
    return f"{place[0]}:{place[1]}"


async def _healthy(child: asyncio.subprocess.Process, url: str) -> bool:
    if child.returncode is not None:
        raise Ended(f"a controller has ended with {child.returncode} before it was ready")
    return await is_ready(url)
