"""The load: one generator, wrk, for every path and every kind of call."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench import trial
from bench.trial import Failed

MANY_BYTES = 1 << 20  # of one large call
LONG_BYTES = 100 << 10  # of one that is neither large nor short
MANY = 100  # connections, whose making takes a noticeable part of a second or two
ONE_IN = 1000  # calls may fail; each that does is reported
SCRIPT = Path(__file__).with_name("load.lua")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One kind of call, and on how many connections at the same time."""

    name: str
    connections: int
    path: str = "/"
    arguments: tuple[str, ...] = ()
    carries: int = 0  # bytes of one call, where it is they that count

    @property
    def is_slow_to_start(self) -> bool:
        """Whether its connections have to be made before it can be judged by its calls."""
        return self.connections >= MANY


CONNECTIONS = (1, 32, 256)
SHORT, LONG = "1 KB", "100 KB"


def named(answer: str, connections: int) -> str:
    return f"{answer} on {connections} connection{'s' * (connections > 1)}"


# Short answers, which are about calls; longer ones, which are about both; and what is about bytes
# or connections alone.
CALLS = tuple(Load(name=named(SHORT, count), connections=count) for count in CONNECTIONS)
LARGE = tuple(
    Load(name=named(LONG, count), connections=count, path="/long", carries=LONG_BYTES)
    for count in CONNECTIONS
)
STREAMS = (
    Load(name="a new connection for each call, 8 at a time", connections=8, arguments=("close",)),
    Load(name="downloads of 1 MB, 4 at a time", connections=4, path="/large", carries=MANY_BYTES),
    Load(
        name="uploads of 1 MB, 4 at a time",
        connections=4,
        path="/sink",
        arguments=("upload", str(MANY_BYTES)),
        carries=MANY_BYTES,
    ),
)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What wrk has found; times in seconds."""

    seconds: float
    requests: int
    failed: int
    p50: float
    p99: float
    p999: float


def missing() -> str | None:
    """Say what is not installed, if so."""
    return None if shutil.which("wrk") else "wrk is not installed (Debian: wrk)"


def offer(load: Load, place: str, seconds: float) -> Said:
    """Call what answers at ``place`` for so long."""
    command = [
        *("wrk", "--threads", "1", "--connections", str(load.connections)),
        *("--duration", f"{seconds:.0f}s", "--timeout", "10s", "--script", str(SCRIPT)),
        *(f"http://{place}{load.path}", "--", *load.arguments),
    ]
    said = trial.run(command, patience=seconds + 30).strip().splitlines()
    return believed(msgspec.json.decode(said[-1].encode(), type=Said))


def believed(said: Said) -> Said:
    """Return it, unless so many calls have failed that the others say little."""
    if not said.requests or said.failed * ONE_IN > said.requests:
        raise Failed(f"{said.failed} calls failed, {said.requests} were answered")
    return said
