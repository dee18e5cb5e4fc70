"""The command ``isthmus``: what can be typed, and what becomes of errors.

Commands import what they need when they run, so that ``isthmus --help`` answers at once.
"""

import errno
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType

import click

from isthmus import __version__
from isthmus.cli.demo import demo
from isthmus.cli.proxy import proxy
from isthmus.cli.rotate import rotate
from isthmus.cli.trust import trust
from isthmus.model.errors import IsthmusError, Transient
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.wire import Json

FAILED = 1
MISUSED = 2
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells do it
TERMINATED = 143  # 128 + SIGTERM

PORT = click.IntRange(0, 65535)


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster the global options mean."""

    kubeconfig: str | None
    context: str | None


def _where() -> list[click.Parameter]:
    """The options that say which cluster is meant; typed twice, the last word counts."""

    def chosen(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.obj = replace(ctx.obj or Where(None, None), **{str(option.name): value})

    texts = {
        "kubeconfig": ("FILE", "Instead of $KUBECONFIG or ~/.kube/config."),
        "context": ("NAME", "A context of the kubeconfig; else the current."),
    }
    return [
        click.Option([f"--{name}"], metavar=sign, help=text, expose_value=False, callback=chosen)
        for name, (sign, text) in texts.items()
    ]


class Commands(click.Group):
    """Commands that all know which cluster is meant, be it said before their name or after it."""

    def __init__(self, *args: Json, **options: Json) -> None:
        super().__init__(*args, **options)
        self.params = [*_where(), *self.params]

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.params = [*_where(), *cmd.params]
        super().add_command(cmd, name)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: isthmus demo",
)
@click.option("-v", "verbose", count=True, help="Say more on stderr; twice: everything.")
@click.version_option(__version__, prog_name="isthmus", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, verbose: int) -> None:
    """Join Kubernetes clusters by service mirroring."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    ctx.obj = ctx.obj or Where(None, None)


@cli.command()
@click.option("-o", "output", type=click.Choice(["text", "json", "yaml"]), default="text")
def version(output: str) -> None:
    """Show the version of this program."""
    from isthmus.cli import render

    if output == "text":
        click.echo(f"isthmus {__version__}")
    else:
        click.echo(render.document({"client": {"version": __version__}}, output), nl=False)


@cli.command()
@click.option(
    "-o", "output", type=click.Choice(["table", "json", "yaml", "short"]), default="table"
)
@click.pass_obj
def check(where: Where, output: str) -> int:
    """Check that a cluster is reachable and fit for Isthmus."""
    import asyncio

    from isthmus.cli import checks, render

    found = asyncio.run(checks.check(where.kubeconfig, where.context))
    style = render.style(sys.stdout)
    click.echo(render.checks(found, output, style), nl=False)
    return FAILED if checks.failed(found) else 0


@cli.command()
@click.option("--cluster-name", required=True, help="What other clusters call this one: east.")
@click.option("--namespace", default="isthmus", show_default=True, help="Where Secrets are.")
@click.option("--mesh-domain", default=MESH_DOMAIN, show_default=True, help="As all clusters have.")
@click.option("--cluster-domain", default="cluster.local", show_default=True, help="Of Services.")
@click.option("--name", default="", help="Of the pod; else the machine's name.")
@click.option("--address", help="Where its ports are opened; else at all addresses.")
@click.option(
    "--admin-port", type=PORT, default=9990, show_default=True, help="/metrics /livez /readyz."
)
@click.option(
    "--sign-port", type=PORT, default=8443, show_default=True, help="Certificates and catalogue."
)
@click.option(
    "--ads-port", type=PORT, default=8444, show_default=True, help="What proxies are told."
)
@click.option("--workers", default=16, show_default=True, help="Mirrors written at once.")
@click.option(
    "--allow-loopback", is_flag=True, help="Targets may be on this machine: for trying things out."
)
@click.option(
    "--local-cidr",
    "local_cidrs",
    multiple=True,
    metavar="CIDR",
    help="A range of this cluster's own pods or nodes, where no gateway can be. Many allowed.",
)
@click.option("--log-format", type=click.Choice(["json", "text"]), help="Else text on a terminal.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
)
@click.pass_obj
def controller(where: Where, /, name: str, log_format: str | None, **options: Json) -> None:
    """Mirror the services that linked clusters export.

    Reads every Link of the cluster, watches what its target exports, and keeps a Service with
    EndpointSlices here for each of them. Any number of replicas may run; one of them writes.

    In a pod it uses the pod's service account. Anywhere else, name a kubeconfig:

    \b
      isthmus controller --kubeconfig east.yaml --cluster-name east
    """
    import asyncio

    from isthmus.apps.controller.config import Config
    from isthmus.cli.controller import control
    from isthmus.kube.election import identity

    for_people = sys.stderr.isatty() if log_format is None else log_format == "text"
    for port in ("sign_port", "ads_port"):
        options[port] = options[port] or None
    options["identity"] = identity(name)
    config = Config(log_format="text" if for_people else "json", **options)
    asyncio.run(control(config, where.kubeconfig, where.context))


cli.add_command(demo)
cli.add_command(proxy)
cli.add_command(trust)
trust.add_command(rotate)


@contextmanager
def _sigterm_as_ctrl_c(terminated: threading.Event) -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that it ends what it started, and note it."""

    def end(number: int, frame: FrameType | None) -> None:
        terminated.set()
        ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(ctrl_c):
            ctrl_c(number, frame)

    # Only the main thread may set handlers; and whoever has us ignore SIGTERM means it.
    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # Shells let background jobs ignore Ctrl-C; but only where it has a handler does asyncio
        # cancel what runs, in good order, instead of being torn apart.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; every failure of ours is one line."""
    terminated = threading.Event()
    try:
        with _sigterm_as_ctrl_c(terminated):
            code = cli.main(arguments, prog_name="isthmus", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return MISUSED
    except (click.Abort, KeyboardInterrupt):
        return TERMINATED if terminated.is_set() else INTERRUPTED
    except IsthmusError as error:
        click.echo(f"isthmus: {' '.join(str(error).split())}", err=True)
        return TRY_AGAIN if isinstance(error, Transient) else FAILED
    except BrokenPipeError:
        # Whoever read our output has seen enough; there is nobody to tell about it.
        return _without_output()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo("isthmus: the output cannot be written: no space left", err=True)
        return _without_output()
    return code if isinstance(code, int) else 0


def _without_output() -> int:
    sys.stdout = None  # or Python complains when it flushes it
    return FAILED


def main() -> None:
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our signs still gets text
    code = run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        click.echo(f"isthmus: the output cannot be written: {error.strerror}", err=True)
        code = _without_output()
    sys.exit(code)
