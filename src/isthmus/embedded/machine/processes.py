"""A program that is a real process: a container's own command, on this machine.

It has no root and no network of its own. What its manifest takes for granted is told to it
instead: where its mounts are, by other paths in its words and variables, and how it finds the API,
by a kubeconfig. The kernel ends it when whoever started it is gone, however that went.
"""

import asyncio
import os
import shlex
import shutil
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from isthmus.embedded.machine.expansion import expanded, relocated, variables
from isthmus.embedded.machine.programs import Site
from isthmus.embedded.machine.streams import connect
from isthmus.embedded.machine.volumes import Mounts
from isthmus.model.errors import Transient
from isthmus.model.wire import JsonObject
from isthmus.runtime.children import end

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # where Kubernetes mounts a pod's own
_START = 10.0  # seconds until a process must answer
_GLANCE = 0.02  # seconds between two looks whether it does
_END = 1.0  # seconds to end in good order, for one that is not asked to by its pod
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Unstarted(Transient):
    """A process could not be started, ended, or did not answer at its ports in time."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a container runs, in this machine's words."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path  # the pod's own, where it is private


@asynccontextmanager
async def process(site: Site) -> AsyncIterator[Process]:
    """Run the container's command until the pod ends.

    ``$(PORT)`` is the first port to bind. Without a readiness probe the container is taken to be
    ready as soon as its ports answer, so that nobody is refused in between.
    """
    command = await commanded(site)
    if not command.words:
        raise Unstarted(f"{_named(site)} has no command; name one in its pod")
    async with started(site, command) as child:
        if site.container.readiness_probe is None:
            await answering(site, child)
        yield child


async def commanded(site: Site) -> Command:
    """Mount what the container mounts, and say what it runs."""
    mounts = await site.mounted()
    known = variables(site.pod, site.container, site.address, _given(site))
    words = (*site.container.command, *site.container.args)
    told = {name: relocated(value, mounts.paths) for name, value in known.items()}
    return Command(
        tuple(relocated(expanded(word, known), mounts.paths) for word in words),
        {**_inherited(), **_access(site, mounts), **told},
        mounts.folder,
    )


@asynccontextmanager
async def started(site: Site, command: Command) -> AsyncIterator[Process]:
    """Run a command until the context ends."""
    program = shutil.which(command.words[0], path=command.environment.get("PATH"))
    if program is None:
        raise Unstarted(f"{_named(site)}: no program {command.words[0]!r} on this machine")
    log = _log(site, command)
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "isthmus.envoy.leash", str(os.getpid())),
            *(program, *command.words[1:]),
            env=command.environment,
            cwd=command.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,  # Ctrl-C is for us, who end it in good order
        )
    finally:
        if log is not None:
            os.close(log)
    try:
        yield child
    finally:
        await end(child, _END)


def _given(site: Site) -> dict[str, str]:
    """The variables that a container has without asking for them."""
    given = {"HOSTNAME": site.hostname, "PORT": str(site.ports[0])}
    api = urlsplit(site.house.api)
    if api.hostname:
        given |= {
            "KUBERNETES_SERVICE_HOST": api.hostname,
            "KUBERNETES_SERVICE_PORT": str(api.port or 443),
        }
    return given


def _inherited() -> dict[str, str]:
    """What of our own surroundings a process may see: never the way to a cluster of the user's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}


def _access(site: Site, mounts: Mounts) -> dict[str, str]:
    """The way to the API as the pod's own service account, if that is mounted."""
    account = dict(mounts.paths).get(ACCOUNT)
    if account is None or not site.house.api:
        return {}
    path = mounts.folder / "kubeconfig"
    path.write_text(yaml.safe_dump(_kubeconfig(site.house.api, account)))
    return {"KUBECONFIG": str(path)}


def _kubeconfig(api: str, account: Path) -> JsonObject:
    cluster = {"server": api, "certificate-authority": str(account / "ca.crt")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": cluster}],
        "users": [{"name": "pod", "user": {"tokenFile": str(account / "token")}}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
    }


def _log(site: Site, command: Command) -> int | None:
    """Where a process says what it has to say: a file of its own, else where we do.

    The file begins with what is run, which is not word for word what the manifest says.
    """
    folder, key = site.house.logs, site.pod.metadata.key
    if folder is None:
        return None
    name = f"{key.namespace}_{key.name}_{site.container.name}.log"
    log = os.open(folder / name, _APPEND, 0o600)
    os.write(log, f"$ {shlex.join(command.words)}\n".encode())
    return log


def _named(site: Site) -> str:
    return f"pod {site.pod.metadata.key}: container {site.container.name}"


async def answering(site: Site, child: Process) -> None:
    """Wait until all ports of a container answer; raises ``Unstarted``."""
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
