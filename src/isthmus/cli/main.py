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
from types import FrameType

import click

from isthmus import __version__
from isthmus.cli.checking.check import check
from isthmus.cli.checking.why import why
from isthmus.cli.exits import FAILED, INTERRUPTED, MISUSED, TRY_AGAIN
from isthmus.cli.installing.install import install
from isthmus.cli.installing.uninstall import uninstall
from isthmus.cli.joining.allow import allow, deny
from isthmus.cli.joining.connect import connect
from isthmus.cli.joining.link import link, unlink
from isthmus.cli.joining.plan import plan
from isthmus.cli.looking.completion import completion
from isthmus.cli.looking.gateways import gateways
from isthmus.cli.looking.services import services
from isthmus.cli.looking.stat import stat
from isthmus.cli.looking.version import version
from isthmus.cli.running.controller import controller
from isthmus.cli.running.proxy import proxy
from isthmus.cli.showing.demo import demo
from isthmus.cli.trusting.rotate import rotate
from isthmus.cli.trusting.trust import trust
from isthmus.cli.where import Commands, Where
from isthmus.model.errors import IsthmusError, Misused, Transient
from isthmus.model.quoting import one_line

LONGEST = 4000  # characters of an error
UNWRITABLE = {errno.ENOSPC: "no space left", errno.EBADF: "it is closed"}
ENDING = (signal.SIGTERM, signal.SIGHUP)  # what ends a command, and that its terminal is gone


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: isthmus demo",
)
@click.option(
    "-v", "verbose", count=True, help="Say more on stderr; twice: every request to a cluster, too."
)
@click.version_option(__version__, prog_name="isthmus", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, verbose: int) -> None:
    """Join Kubernetes clusters by service mirroring."""
    _speak(verbose)
    ctx.obj = ctx.obj or Where(None, None)


def _speak(verbose: int) -> None:
    """Let our own loggers say more; others', of libraries, say nothing that helps."""
    from isthmus.apps.controller.logs import Text

    stream = logging.StreamHandler()
    stream.setFormatter(Text())
    logging.basicConfig(handlers=[stream])
    if verbose:
        logging.getLogger("isthmus").setLevel(logging.INFO if verbose == 1 else logging.DEBUG)


trust.add_command(rotate)
for command in (check, controller, demo, install, proxy, trust, uninstall, why):
    cli.add_command(command)
for command in (allow, connect, deny, link, plan, unlink):
    cli.add_command(command)
for command in (completion, gateways, services, stat, version):
    cli.add_command(command)


@contextmanager
def _ended_as_by_ctrl_c(received: list[int]) -> Iterator[None]:
    """Let signals end a command as Ctrl-C does, so that it ends what it started, and note them."""

    def end(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP in received:
            return  # a terminal that goes may say so twice; once is enough to end in good order
        received.append(number)
        ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(ctrl_c):
            ctrl_c(number, frame)

    # Only the main thread may set handlers; and whoever has us ignore a signal means it.
    main_thread = threading.current_thread() is threading.main_thread()
    ours = [one for one in ENDING if main_thread and signal.getsignal(one) == signal.SIG_DFL]
    if signal.SIGTERM in ours and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # Shells let background jobs ignore Ctrl-C; but only where it has a handler does asyncio
        # cancel what runs, in good order, instead of being torn apart.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; every failure of ours is one line."""
    received: list[int] = []
    try:
        with _ended_as_by_ctrl_c(received):
            code = cli.main(arguments, prog_name="isthmus", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return MISUSED
    except (click.Abort, KeyboardInterrupt):
        return 128 + received[0] if received else INTERRUPTED
    except IsthmusError as error:
        # Part of it may be what a cluster says: that must not reach the terminal as it is.
        click.echo(f"isthmus: {one_line(str(error), LONGEST)}", err=True)
        return _code(error)
    except BrokenPipeError:
        # Whoever read our output has seen enough; there is nobody to tell about it.
        return _without_output()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        return _unwritten(error)
    return code if isinstance(code, int) else 0


def _code(error: IsthmusError) -> int:
    match error:
        case Transient():
            return TRY_AGAIN
        case Misused():
            return MISUSED
    return FAILED


def _unwritten(error: OSError) -> int:
    why = UNWRITABLE.get(error.errno or 0, error.strerror)
    click.echo(f"isthmus: the output cannot be written: {why}", err=True)
    return _without_output()


def _without_output() -> int:
    sys.stdout = None  # or Python complains when it flushes it
    return FAILED


def main() -> None:
    if sys.stdout is None:  # closed by whoever started us: what is written there must fail
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our signs still gets text
    code = run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error)
    sys.exit(code)
