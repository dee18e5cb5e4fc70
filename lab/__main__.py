"""``python -m lab``: build the programs, or start a control plane to look around in."""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from isthmus.model.errors import IsthmusError
from lab.build import build
from lab.controlplane import Settings, control_plane
from lab.versions import BINARIES, CONTROL_PLANE, KUBECTL


def main() -> int:
    arguments = _parser().parse_args()
    # A terminated lab ends its processes and removes its data, as an interrupted one does. Both
    # signals are set, because a shell starts its background jobs with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        if arguments.command == "build":
            _build(arguments.only)
        else:
            _up(arguments.name)
    except IsthmusError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    builds = commands.add_parser("build", help="build what is missing in the cache")
    builds.add_argument(
        "--only", action="append", choices=[b.name for b in BINARIES], help="may be repeated"
    )
    ups = commands.add_parser("up", help="start a control plane; Ctrl-C ends it")
    ups.add_argument("--name", default="lab", help="of the cluster, and of its kubeconfig context")
    return parser


def _build(only: list[str] | None) -> None:
    wanted = [binary for binary in BINARIES if only is None or binary.name in only]
    build(wanted)
    for binary in wanted:
        print(f"{binary.name} {binary.version}: {binary.path}")


def _up(name: str) -> None:
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
