"""The demo, put together: two clusters, what runs in them, the story, and their end."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import yaml

from isthmus.cli import manifests
from isthmus.cli.render import Style
from isthmus.cli.showing import props, story
from isthmus.cli.showing.kubectl import Kubectl
from isthmus.cli.showing.shell import Shell
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import Served, serve
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.ports import permitted
from isthmus.embedded.machine.programs import PROGRAMS
from isthmus.embedded.mesh import installed
from isthmus.embedded.mesh.blocks import claimed
from isthmus.embedded.mesh.commands import Commands
from isthmus.embedded.mesh.kinds import create
from isthmus.embedded.mesh.mounts import ours
from isthmus.kube.client import Client
from isthmus.kube.resources import SERVICES
from isthmus.model.errors import Permanent
from isthmus.model.names import GATEWAY
from isthmus.model.objects import Key
from isthmus.runtime.folders import private_folder

CLUSTERS = ("east", "west")


class Unwritable(Permanent):
    """The kubeconfig cannot be put where it was asked to be."""


class OnlyLinux(Permanent):
    """The addresses and the Envoys of the demo are not to be had here."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where the demo tells its story."""

    write: Callable[[str], None]
    style: Style

    def say(self, text: str = "") -> None:
        self.write(text)

    def chapter(self, text: str) -> None:
        """Say what comes next."""
        self.write(self.style.bold(f"# {text}"))
        self.write("")

    def typed(self, command: str) -> None:
        """Show a command the way it would be typed."""
        self.write(f"{self.style.faint('$')} {self.style.bold(command)}")


async def run(page: Page, directory: Path | None, *, stay: bool, verbose: bool) -> None:
    """Start the clusters, tell the story, and stay until a signal comes if that is wanted."""
    if sys.platform != "linux":
        raise OnlyLinux("the demo needs Linux, where all of 127.0.0.0/8 is this machine")
    async with _served(directory) as site:
        page.say("Two Kubernetes clusters start on this machine, each with an API of its own:")
        for served in site.served:
            page.say(f"  {page.style.bold(served.cluster)}  {served.url}")
        page.say("Whatever is printed below a command is what it has really answered.")
        page.say()
        stage = story.Stage(page, Shell(site.kubectl), permitted().at(80))
        await story.trust(stage)
        async with _running(site, verbose):
            await story.installed(stage)
            await _write_manifests(site)
            await story.tell(stage)
            if not stay:
                page.say("That is all. Both clusters end now; to keep them: isthmus demo --stay")
                return
            await story.again(stage)
            ended = _signalled()
            _explain(stage, site)
            await ended.wait()
        page.say("Both clusters are gone, and so is the kubeconfig.")


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a demo is: its folder, its clusters, and the way to them."""

    folder: Path
    kubeconfig: Path
    clusters: tuple[Cluster, ...]
    served: tuple[Served, ...]
    kubectl: Kubectl


@asynccontextmanager
async def _served(directory: Path | None) -> AsyncIterator[_Site]:
    """Two clusters that answer, and run nothing yet; everything of them is in one folder."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(private_folder("isthmus-demo-"))
        block = stack.enter_context(claimed())
        clusters = tuple(block.cluster(name, place) for place, name in enumerate(CLUSTERS))
        clients = {one.name: Client(one.transport()) for one in clusters}
        for one in clusters:
            furniture = [installed.NAMESPACE, installed.name_server(one.service_range)]
            await create(clients[one.name], [*manifests.definitions(), *furniture])
        served = tuple([await stack.enter_async_context(serve(one)) for one in clusters])
        path = stack.enter_context(_written(directory or folder, served))
        yield _Site(folder, path, clusters, served, Kubectl(clients, folder))


@asynccontextmanager
async def _running(site: _Site, verbose: bool) -> AsyncIterator[None]:
    """Let both clusters run pods, our own first."""
    async with AsyncExitStack() as stack:
        for cluster in site.clusters:
            client = site.kubectl.clients[cluster.name]
            await create(client, installed.workloads(installed.deployment))
            logs = None if verbose else site.folder
            commands = Commands(cluster, site.kubeconfig, logs)
            own = ours(cluster.name, client, commands.controller, commands.proxy, site.folder)
            await stack.enter_async_context(Machine(cluster, programs={**PROGRAMS, **own}))
        yield


async def _write_manifests(site: _Site) -> None:
    """Write the files that the story applies; the Link leads to where west's gateway is now."""
    west = site.kubectl.clients["west"]
    gateway = await west.get(SERVICES, Key(installed.SYSTEM, GATEWAY))
    files = {
        "grant-east.yaml": props.GRANT,
        "link-west.yaml": props.link(gateway.spec.cluster_ip),
        "nginx.yaml": props.NGINX,
        "callers.yaml": props.CALLERS,
    }
    for name, text in files.items():
        (site.folder / name).write_text(text)


def _signalled() -> asyncio.Event:
    """From now on, signals end the stay in good order instead of breaking it off."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    return ended


def _explain(stage: story.Stage, site: _Site) -> None:
    say, program = stage.page.say, _program()
    say("Both clusters are yours now. Their contexts are east and west; in another terminal:")
    say(f"  export KUBECONFIG={quote(str(site.kubeconfig))}")
    say(f"  {program} demo call east/curl {stage.url('nginx-set-1.nginx-svc-west')}")
    say(f"  {program} --context east check")
    if shutil.which("kubectl"):
        say("  kubectl --context west scale statefulset nginx-set --replicas=2")
        say("  kubectl --context east get services --watch")
    say(f"The files of the story, and the logs of all that runs, are in {site.folder}")
    say()
    say("They stay until Ctrl-C.")


def _program() -> str:
    """How to type our own command, where it may not be in the path."""
    script = Path(sys.argv[0])
    if shutil.which("isthmus"):
        return "isthmus"
    if script.name == "isthmus" and os.access(script, os.X_OK):
        return quote(str(script))
    return f"{quote(sys.executable)} -m isthmus"


@contextmanager
def _written(directory: Path, served: Sequence[Served]) -> Iterator[Path]:
    """A kubeconfig that only we can read, for as long as the clusters live."""
    content = yaml.safe_dump(kubeconfig(each.entry() for each in served), sort_keys=False)
    path = directory.absolute() / "kubeconfig"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(content)
    except FileExistsError as error:
        raise Unwritable(
            f"{error.filename} exists already; remove it or name another directory"
        ) from error
    except OSError as error:
        raise Unwritable(f"{path}: {(error.strerror or str(error)).lower()}") from error
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
