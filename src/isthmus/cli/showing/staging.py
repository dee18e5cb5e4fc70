"""The demo, put together: two clusters, what runs in them, the story, and their end."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import yaml

from isthmus.cli.render import Style
from isthmus.cli.showing import props, story
from isthmus.cli.showing.kubectl import Kubectl
from isthmus.cli.showing.shell import Shell
from isthmus.cli.showing.stage import Stage
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import Served, serve
from isthmus.embedded.machine import nginx
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.programs import PROGRAMS, House
from isthmus.embedded.mesh import inside
from isthmus.embedded.mesh.blocks import claimed
from isthmus.embedded.mesh.lookups import name_server
from isthmus.embedded.mesh.program import IMAGE, isthmus
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.errors import Permanent
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

    def typed(self, line: str) -> None:
        """Show a command the way it would be typed, be it in several lines."""
        shown = "\n".join(map(self.style.bold, line.split("\n")))
        self.write(f"{self.style.faint('$')} {shown}")


async def run(page: Page, directory: Path | None, *, stay: bool, verbose: bool) -> None:
    """Start the clusters, tell the story, and stay until a signal comes if that is wanted."""
    if sys.platform != "linux":
        raise OnlyLinux("the demo needs Linux, where all of 127.0.0.0/8 is this machine")
    async with _running(directory, verbose) as site:
        page.say("Two Kubernetes clusters start on this machine, each with an API of its own:")
        for served in site.served:
            page.say(f"  {page.style.bold(served.cluster)}  {served.url}")
        page.say(
            "Their pods are processes, and their addresses are all in 127.0.0.0/8. Whatever is"
        )
        page.say("printed below a command is what it has really answered.")
        page.say()
        stage = Stage(page, Shell(Kubectl(site.clusters, site.folder), site.kubeconfig))
        await story.tell(stage)
        if not stay:
            await story.clean_up(stage)
            page.say("That is all. Both clusters end now; to keep them: isthmus demo --stay")
            return
        ended = _signalled()
        _explain(page, site)
        await ended.wait()
    page.say("Both clusters are gone, and so is the kubeconfig.")


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a demo is: its folder, its clusters, and the way to them."""

    folder: Path
    kubeconfig: Path
    clusters: Mapping[str, Cluster]
    served: tuple[Served, ...]


@asynccontextmanager
async def _running(directory: Path | None, verbose: bool) -> AsyncIterator[_Site]:
    """Two clusters that answer and run pods; everything of them is in one folder."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(private_folder("isthmus-demo-"))
        block = stack.enter_context(claimed())
        for name, text in props.FILES.items():
            (folder / name).write_text(text)
        clusters = {name: block.cluster(name, place) for place, name in enumerate(CLUSTERS)}
        served = [await stack.enter_async_context(_cluster(one)) for one in clusters.values()]
        path = stack.enter_context(_written(directory or folder, served))
        for cluster, api in zip(clusters.values(), served, strict=True):
            home = folder / cluster.name
            home.mkdir()
            house = House(folder=home, logs=None if verbose else home, api=api.url)
            programs = {**PROGRAMS, **nginx.programs(), IMAGE: isthmus}
            machine = Machine(cluster, programs=programs, house=house)
            await stack.enter_async_context(machine)
            cluster.execute = inside.executing(machine)
        yield _Site(folder, path, clusters, tuple(served))


@asynccontextmanager
async def _cluster(cluster: Cluster) -> AsyncIterator[Served]:
    """Serve a cluster whose name server can be found."""
    service = name_server(cluster.service_range)
    await Client(cluster.transport()).create(KINDS["Service"], service)
    async with serve(cluster) as served:
        yield served


def _signalled() -> asyncio.Event:
    """From now on, signals end the stay in good order instead of breaking it off."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    return ended


def _explain(page: Page, site: _Site) -> None:
    say, program = page.say, _program()
    say("Both clusters are yours now. Their contexts are east and west; in another terminal:")
    say(f"  export KUBECONFIG={quote(str(site.kubeconfig))}")
    say(f"  {program} demo exec east/curl -- curl -s {story.POD.format('nginx-set-1')}")
    say(f"  {program} --context east services")
    say(f"  {program} --context east why nginx-set-1.nginx-svc-west")
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
