"""``python -m lab``: real Kubernetes clusters on this machine, or what they are built of."""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from isthmus.model.errors import IsthmusError
from lab import running, showing
from lab.build import build
from lab.clusters import CLUSTERS, KUBECONFIG, PROGRAMS, USUAL, Cluster, named
from lab.controlplane import Settings, control_plane
from lab.images import recipes
from lab.images.layers import made
from lab.images.loading import load, load_file
from lab.packages import require_root
from lab.versions import BINARIES, CONTROL_PLANE, KUBECTL, WITHOUT_NODES


def main() -> int:
    arguments = _parser().parse_args()
    # A terminated lab ends its processes and removes its data, as an interrupted one does. Both
    # signals are set, because a shell starts its background jobs with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return _do(arguments)
    except IsthmusError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    builds = commands.add_parser("build", help="build a control plane's programs into the cache")
    builds.add_argument(
        "--only", action="append", choices=[b.name for b in BINARIES], help="may be repeated"
    )
    ups = commands.add_parser("up", help="bring clusters with nodes up (root); they stay")
    ups.add_argument("clusters", nargs="*", type=_cluster, default=USUAL, metavar="CLUSTER")
    status = commands.add_parser("status", help="say what runs")
    status.add_argument("-o", dest="form", choices=("table", "json"), default="table")
    downs = commands.add_parser("down", help="end clusters and remove all that they left (root)")
    downs.add_argument("clusters", nargs="*", type=_cluster, default=CLUSTERS, metavar="CLUSTER")
    loads = commands.add_parser("load", help="hand images to all clusters that are up (root)")
    loads.add_argument(
        "images",
        nargs="+",
        metavar="IMAGE",
        help=f"{', '.join(recipes.BY_NAME)}, or a file of `docker save`",
    )
    for command, does in (("hold", "kill one program and keep it down"), ("release", "undo hold")):
        holds = commands.add_parser(command, help=f"{does} (root)")
        holds.add_argument("cluster", type=_cluster)
        holds.add_argument("program")
    reboots = commands.add_parser("reboot", help="cut the power of a node, and give it back (root)")
    reboots.add_argument("cluster", type=_cluster)
    planes = commands.add_parser("plane", help="a control plane without nodes; Ctrl-C ends it")
    planes.add_argument("--name", default="lab", help="of the cluster and its kubeconfig context")
    return parser


def _cluster(name: str) -> Cluster:
    if name not in [cluster.name for cluster in CLUSTERS]:
        known = ", ".join(cluster.name for cluster in CLUSTERS)
        raise argparse.ArgumentTypeError(f"no cluster {name!r} in lab/clusters.py: {known}")
    return named(name)


def _do(arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "build":
            _build(arguments.only)
        case "plane":
            _plane(arguments.name)
        case "up":
            running.up(arguments.clusters)
            print(f"export KUBECONFIG={KUBECONFIG}\nexport PATH={PROGRAMS}:$PATH")
        case "down":
            running.down(arguments.clusters)
        case "status":
            return showing.status(arguments.form)
        case "load":
            require_root()
            for image in arguments.images:
                _load(image)
        case "hold" | "release" as command:
            require_root()
            {"hold": running.hold, "release": running.release}[command](
                arguments.cluster, arguments.program
            )
        case "reboot":
            require_root()
            running.reboot(arguments.cluster)
    return 0


def _build(only: list[str] | None) -> None:
    wanted = [binary for binary in BINARIES if binary.name in (only or ())] or WITHOUT_NODES
    build(wanted)
    for binary in wanted:
        print(f"{binary.name} {binary.version}: {binary.path}")


def _load(name: str) -> None:
    clusters = running.those_up()
    if name not in recipes.BY_NAME:
        for cluster in clusters:
            load_file(cluster, Path(name))
            print(f"{cluster.name}: {name} loaded", flush=True)
        return
    image = recipes.BY_NAME[name]()
    layers = made(image.layers)
    for cluster in clusters:
        news = "loaded" if load(cluster, image, layers) else "is there already"
        print(f"{cluster.name}: {image.name} {news}", flush=True)


def _plane(name: str) -> None:
    build(CONTROL_PLANE)
    with control_plane(Settings(name=name)) as plane:
        folder = plane.papers.ca_file.parent
        config = Path(folder, "kubeconfig")
        config.touch(mode=0o600)
        config.write_text(json.dumps(plane.kubeconfig(), indent=2))
        print(f"export KUBECONFIG={config}")
        print(f"{plane.url} is up; logs are in {folder}. Ctrl-C ends it.", file=sys.stderr)
        if KUBECTL.is_built:
            print(f"a kubectl of its version: {KUBECTL.path}", file=sys.stderr)
        sys.stdout.flush()
        while True:
            signal.pause()


if __name__ == "__main__":
    # Not sys.exit alone: buffered output must not turn a closed pipe into a traceback.
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
