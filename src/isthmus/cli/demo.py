"""Two clusters in this process, for everybody to try: ``isthmus demo``."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import yaml

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import run as control
from isthmus.cli import manifests, props, story
from isthmus.cli.render import Style
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.client import Client
from isthmus.model.errors import Permanent
from isthmus.runtime.folders import private_folder

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"


class Unwritable(Permanent):
    """The kubeconfig cannot be put where it was asked to be."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where the demo tells its story."""

    write: Callable[[str], None]
    style: Style

    def say(self, text: str = "") -> None:
        self.write(text)

    def typed(self, command: str) -> None:
        """Show a command the way it would be typed."""
        self.write(f"{self.style.faint('$')} {self.style.bold(command)}")


async def run(page: Page, directory: Path | None, stay: bool) -> None:
    """Start the clusters, tell the story, and stay until a signal comes if that is wanted."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    east = Cluster("east", domain="east.cluster.local", service_range="10.96.0.0/16")
    west = Cluster("west", domain="west.cluster.local", service_range="10.97.0.0/16")
    async with serve(east) as east_served, serve(west) as west_served, _gateway() as gateway:
        with _written(directory, [east_served, west_served]) as path:
            page.say("Two clusters run in this process, each with a Kubernetes API of its own:")
            for served in (east_served, west_served):
                page.say(f"  {page.style.bold(served.cluster)}  {served.url}")
            page.say("A controller runs in east. There are no pods: west's endpoints are made up.")
            page.say()
            async with _controlled(east):
                credentials = yaml.safe_dump(kubeconfig([west_served.entry()])).encode()
                await story.tell(story.Stage(page, east, west), props.link(credentials, gateway))
                if not stay:
                    page.say("Nobody is here to use them, so they end now.")
                    page.say("To keep them: isthmus demo --stay")
                    return
                page.say("Their kubeconfig, with a context for each:")
                page.say(f"  {path}")
                page.say()
                _explain(page, path)
                await ended.wait()
            page.say("Both clusters are gone, and so is the kubeconfig.")


@asynccontextmanager
async def _controlled(east: Cluster) -> AsyncIterator[None]:
    """Run a controller in ``east``, with what it needs there."""
    for definition in manifests.definitions():
        await story.ask(east, "POST", DEFINITIONS, definition)
    await story.ask(east, "POST", NAMESPACES, props.NAMESPACE)
    config = Config(cluster_name=east.name, allow_loopback=True, admin_port=None)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(control(config, Outside(client=Client(east.transport())), stop))
        try:
            yield
        finally:
            stop.set()


@asynccontextmanager
async def _gateway() -> AsyncIterator[tuple[str, int]]:
    """Stand in for west's gateway: something that answers when it is probed."""

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        address, port = server.sockets[0].getsockname()[:2]
        yield address, port


def _explain(page: Page, path: Path) -> None:
    page.say("Try them, in another terminal:")
    page.say(f"  export KUBECONFIG={quote(str(path))}")
    page.say("  isthmus --context east check")
    if shutil.which("kubectl"):
        page.say("  kubectl --context west label service nginx-svc mirror.linkerd.io/exported=true")
        page.say("  kubectl --context east get services --watch")
    else:
        page.say("Where kubectl is installed, it works with this file, too.")
    page.say()
    page.say("They stay until Ctrl-C.")


@contextmanager
def _written(directory: Path | None, served: list[Served]) -> Iterator[Path]:
    """A kubeconfig that only we can read, for as long as the clusters live."""
    content = yaml.safe_dump(kubeconfig(each.entry() for each in served), sort_keys=False)
    if directory is None:
        with private_folder("isthmus-demo-") as made:
            yield _create(made / "kubeconfig", content)
        return
    path = directory.absolute() / "kubeconfig"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _create(path, content)
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


def _create(path: Path, content: str) -> Path:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(content)
    return path
