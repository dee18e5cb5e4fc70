"""``isthmus controller``: from options to a running controller, inside a cluster or outside."""

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path

from isthmus.apps.controller import logs
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import run
from isthmus.cli.running.tidying import keep_tidy
from isthmus.kube import incluster, kubeconfig
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.http import HttpTransport
from isthmus.runtime.clock import Clock, SystemClock

# Files, of which connections are most: our own watches and logs, and one for each worker; a share
# for those who connect to us, be they proxies, pods that want certificates or followers; and for
# each link two watches of its target, one of its Secret, a probe, and those of a successor.
OWN_FILES, OTHERS_SHARE, LINK_FILES = 30, 4, 6


async def control(config: Config, file: str | None, context: str | None) -> None:
    """Run a controller until SIGTERM or Ctrl-C."""
    logs.set_up(config.log_level, config.log_format)
    clock = SystemClock()
    access = _access(file, context, clock)
    endpoint = await kubeconfig.settled(access)
    client = Client(HttpTransport(endpoint), access.credentials, clock=clock)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    keep_tidy()
    try:
        await run(
            config, Outside(client=client, clock=clock, berths=claim_files(config.workers)), stop
        )
    finally:
        await client.close()


def claim_files(workers: int) -> int:
    """Take as many files as we are allowed to, and return how many links they are enough for."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return max(1, (most - most // OTHERS_SHARE - OWN_FILES - workers) // LINK_FILES)


def _access(file: str | None, context: str | None, clock: Clock) -> Access:
    """Return the access that was asked for: a pod's own, unless a kubeconfig is named."""
    is_pod = "KUBERNETES_SERVICE_HOST" in os.environ and incluster.MOUNT.exists()
    if file is None and context is None and "KUBECONFIG" not in os.environ and is_pod:
        return incluster.load(os.environ, clock)
    return kubeconfig.load(kubeconfig.find(file, os.environ, Path.home()), clock, context=context)
