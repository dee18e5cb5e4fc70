"""``isthmus controller``: from options to a running controller, inside a cluster or outside."""

import asyncio
import gc
import os
import signal
from pathlib import Path

from isthmus.apps.controller import logs
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import run
from isthmus.kube import incluster, kubeconfig
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.http import HttpTransport
from isthmus.runtime.clock import Clock, SystemClock


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
    gc.freeze()  # what is there by now lives as long as we do, and need not be searched again
    try:
        await run(config, Outside(client=client, clock=clock), stop)
    finally:
        await client.close()


def _access(file: str | None, context: str | None, clock: Clock) -> Access:
    """Return the access that was asked for: a pod's own, unless a kubeconfig is named."""
    is_pod = "KUBERNETES_SERVICE_HOST" in os.environ and incluster.MOUNT.exists()
    if file is None and context is None and "KUBECONFIG" not in os.environ and is_pod:
        return incluster.load(os.environ, clock)
    return kubeconfig.load(kubeconfig.find(file, os.environ, Path.home()), clock, context=context)
