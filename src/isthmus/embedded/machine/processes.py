"""A program that is a real process: the container's own command, on this machine."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from isthmus.embedded.machine.programs import Site
from isthmus.embedded.machine.streams import connect
from isthmus.model.errors import Transient
from isthmus.runtime.children import end

_START = 10.0  # seconds until a process must answer
_GLANCE = 0.02  # seconds between two looks whether it does
_END = 5.0  # seconds to end in good order
_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


class Unstarted(Transient):
    """A process ended, or did not answer at its ports in time."""


@asynccontextmanager
async def process(site: Site) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the container's command until the pod ends; ready when all its ports answer.

    ``$(NAME)`` stands for a variable of the container, as in Kubernetes. There are also
    ``POD_IP``, ``POD_NAME``, ``POD_NAMESPACE`` and ``PORT``, the first one to bind.
    """
    own = {
        "POD_IP": site.address,
        "POD_NAME": site.pod.metadata.name,
        "POD_NAMESPACE": site.pod.metadata.namespace,
        "HOSTNAME": site.hostname,
        "PORT": str(site.ports[0]),
    }
    own |= {one.name: _expanded(one.value, own) for one in site.container.env}
    command = [_expanded(word, own) for word in (*site.container.command, *site.container.args)]
    if not command:
        raise Unstarted(f"{_named(site)} has no command; name one in its pod")
    child = await asyncio.create_subprocess_exec(*command, env={**os.environ, **own})
    try:
        await _answering(site, child)
        yield child
    finally:
        await end(child, _END)


def _expanded(word: str, variables: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), word)


def _named(site: Site) -> str:
    return f"pod {site.pod.metadata.key}: container {site.container.name}"


async def _answering(site: Site, child: asyncio.subprocess.Process) -> None:
    clock = asyncio.get_running_loop().time
    deadline = clock() + _START
    for port in site.ports:
        while True:
            try:
                _, writer = await connect(site.address, site.address, port)
            except OSError:
                if child.returncode is not None:
                    raise Unstarted(f"{_named(site)} ended with {child.returncode}") from None
                if clock() > deadline:
                    text = f"{_named(site)} does not answer at port {port} after {_START:g} s"
                    raise Unstarted(text) from None
                await asyncio.sleep(_GLANCE)
            else:
                writer.close()
                break
