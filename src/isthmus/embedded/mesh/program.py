"""The product's own image on this machine: ``isthmus`` with the words of its manifest.

Pods here share one network and the resolver of this machine, which knows no names of clusters.
Hence, and for no other reason, some words are added: at which address to open ports, that targets
may be on this machine, and where the controller is instead of what it is called.
"""

import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

from isthmus.apps.proxy.config import place
from isthmus.embedded.machine.processes import Command, commanded, started
from isthmus.embedded.machine.programs import Site

IMAGE = "isthmus"  # the last part of its repository, wherever that is
_NAMED = ("--controller", "--ads")  # options that say where something is
_METRICS = "--metrics"
_METRICS_PORT = 9991


def adapted(
    words: Sequence[str], address: str, resolve: Callable[[str], tuple[str, ...]]
) -> list[str]:
    """What the image is told here, instead of ``words``, in the pod at ``address``."""
    told = list(words[1:] if words[:1] == (IMAGE,) else words)
    if told[:1] == ["controller"]:
        return [*told, "--address", address, "--allow-loopback"]
    port = _METRICS_PORT
    for at, (option, value) in enumerate(pairwise(told), 1):
        if option in _NAMED:
            host, number = place(option.removeprefix("--"), value)
            told[at] = f"{resolve(host)[0]}:{number}"
        elif option == _METRICS:
            port = place("metrics", value)[1]
    return [*told, "--address", address, _METRICS, f"{address}:{port}"]


async def told(site: Site) -> Command:
    """What runs in a container of the image."""
    command = await commanded(site)
    words = adapted(command.words, site.address, site.resolve)
    return replace(command, words=(sys.executable, "-m", "isthmus", *words))


@asynccontextmanager
async def isthmus(site: Site) -> AsyncIterator[Process]:
    """Run the image's command until the pod ends."""
    async with started(site, await told(site)) as child:
        yield child
