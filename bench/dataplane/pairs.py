"""Pairs of other proxies that do what is nearest to ours: plain in, mutual TLS between, plain out.

They are set up as their manuals advise for speed, with one worker each. They do less than ours:
they demand a certificate, but neither choose it by the caller nor judge by it.
"""

import re
import shutil
import socket
import string
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bench.dataplane import mesh
from bench.dataplane.load import LONG_BYTES, MANY_BYTES
from bench.dataplane.ways import FLOOR, ONE
from isthmus.embedded.fronts.certificates import Authority
from isthmus.envoy.process import program as envoy
from lab.process import Process, Supervisor

CONFIGS = Path(__file__).with_name("configs")
GATEWAY_NAME = "gateway"
SERVER_PORT = 7000
STREAMS = Path("/usr/lib/nginx/modules/ngx_stream_module.so")  # where it is not built in
_VERSION = re.compile(r"\d+\.\d+\.\d+")
SHORT = 1024  # bytes of a short answer


class Config(string.Template):
    """A file of settings; the usual sign means something to nginx already."""

    delimiter = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two processes of one program, for bytes on one port and for requests on another."""

    name: str
    program: str  # as files and packages are called after it
    options: tuple[str, ...]  # the last one is followed by its file
    suffix: str
    tcp: int
    http: int
    is_peer: bool = True
    sides: tuple[tuple[str, str], ...] = (
        ("gateway", mesh.GATEWAY_AT),
        ("egress", mesh.EGRESS_AT),
    )

    @property
    def path(self) -> str | None:
        """Where the program is, if anywhere."""
        return shutil.which(self.program) if self.is_peer else str(envoy())


HAPROXY = Pair(
    name="HAProxy", program="haproxy", options=("-f",), suffix=".cfg", tcp=21_001, http=21_002
)
NGINX = Pair(
    name="nginx", program="nginx", options=("-c",), suffix=".conf", tcp=21_003, http=21_004
)
ENVOY = Pair(
    name=FLOOR,
    program="envoy",
    options=("--disable-hot-restart", "--concurrency", "1", "--log-level", "error", "-c"),
    suffix=".yaml",
    tcp=21_005,
    http=21_006,
    is_peer=False,
)
ALONE = replace(ENVOY, name=ONE, tcp=21_007, http=21_008, sides=(("alone", mesh.EGRESS_AT),))
PAIRS = (HAPROXY, NGINX, ENVOY, ALONE)


def missing(pair: Pair) -> str | None:
    """Say why a pair cannot be run, if so."""
    if pair.path is None:
        return f"{pair.program} is not installed (Debian: {pair.program})"
    if pair == NGINX and not STREAMS.exists() and "--with-stream " not in _said(NGINX, "-V"):
        return "nginx cannot carry bytes (Debian: libnginx-mod-stream)"
    return None


def versions() -> dict[str, str]:
    """Return the versions of the peers that are installed."""
    return {
        pair.name: _VERSION.findall(_said(pair, "-v"))[0] for pair in (HAPROXY, NGINX) if pair.path
    }


class Running:
    """The server that all paths lead to, and pairs in front of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._supervisor = Supervisor(logs=folder)

    def server(self) -> None:
        (self._folder / "large").write_bytes(b"x" * MANY_BYTES)
        (self._folder / "long").write_bytes(b"x" * LONG_BYTES)
        self._start("server", NGINX, mesh.PODS_AT, SERVER_PORT)

    def pair(self, pair: Pair) -> tuple[int, ...]:
        """Start both, or the one; return their processes."""
        return tuple(
            self._start(f"{pair.program}-{side}", pair, address, pair.tcp)
            for side, address in pair.sides
        )

    def stop(self) -> None:
        self._supervisor.stop_all()

    def _start(self, name: str, pair: Pair, address: str, port: int) -> int:
        path = self._folder / f"{name}{pair.suffix}"
        path.write_text(self.settings(path.name, pair))
        self._supervisor.start(
            [
                Process(
                    name=name,
                    argv=(str(pair.path), *pair.options, str(path)),
                    ready=lambda: _answers(address, port),
                )
            ]
        )
        return self._supervisor.pid(name)

    def settings(self, name: str, pair: Pair) -> str:
        """Return a file of settings, filled in."""
        return Config((CONFIGS / name).read_text()).substitute(self._values(pair))

    def _values(self, pair: Pair) -> dict[str, object]:
        return {
            "folder": self._folder,
            "modules": f"load_module {STREAMS};" if STREAMS.exists() else "",
            "server": f"{mesh.PODS_AT}:{SERVER_PORT}",
            "pods": mesh.PODS_AT,
            "port": SERVER_PORT,
            "gateway": mesh.GATEWAY_AT,
            "egress": mesh.EGRESS_AT,
            "name": GATEWAY_NAME,
            "tcp": pair.tcp,
            "http": pair.http,
            "short": "x" * SHORT,
        }


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Prepare the papers; end everything that was started."""
    _write_papers(folder)
    found = Running(folder)
    try:
        yield found
    finally:
        found.stop()


def _write_papers(folder: Path) -> None:
    """A server that is known by name, for that is all that these can check; a client of ours."""
    now = datetime.now(UTC)
    authority = Authority("pairs", now)
    server, client = authority.issue([GATEWAY_NAME], now), mesh.credentials(mesh.EGRESS)
    for name, content in {
        "server-ca.pem": authority.pem.encode(),
        "server.pem": server.certificate + server.key,
        "client-ca.pem": mesh.anchors().pem(),
        "client.pem": client.chain_pem + client.key_pem,
    }.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def _answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def _said(pair: Pair, option: str) -> str:
    command = [str(pair.path), option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr} "
