"""Credential plugins: programs that a kubeconfig names and that answer with a token or a
certificate (client.authentication.k8s.io, v1 and v1beta1).

They run for people at a command line only. What a plugin writes to standard output is a secret and
never goes anywhere else; its standard error is shown when it fails.
"""

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from isthmus.kube.credentials import bearer
from isthmus.kube.document import Place, shown
from isthmus.kube.errors import BadConfig
from isthmus.kube.pem import check_pair
from isthmus.kube.plugin import Plugin
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE, JsonObject
from isthmus.runtime.clock import Clock

PATIENCE = 60.0  # seconds for a plugin that runs on its own
PATIENCE_WITH_PEOPLE = 300.0  # seconds for one that may wait for somebody to log in
LINGERING = 0.5  # seconds for the rest of an answer after the plugin itself has ended
MARGIN = timedelta(seconds=30)  # replace a credential this long before it expires
MOST_OUTPUT = 1 << 20
MOST_COMPLAINT = 1 << 14
LONGEST_COMPLAINT = 300  # characters of it that are shown
LONGEST_HINT = 500


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a plugin's answer that matters."""

    expiration_timestamp: datetime | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin's answer."""

    api_version: str
    kind: str
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A credential from a plugin, and when to ask for the next one."""

    headers: Mapping[str, str] = field(repr=False)
    certificate: tuple[bytes, bytes] | None = field(repr=False)
    fresh_until: datetime | None

    def is_fresh(self, now: datetime) -> bool:
        return self.fresh_until is None or now < self.fresh_until


class ExecToken:
    """Runs the plugin when a credential is needed, one at a time, and keeps it while fresh."""

    def __init__(self, plugin: Plugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._issued: Issued | None = None
        self._running = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        return (await self._current()).headers

    async def certificate(self) -> tuple[bytes, bytes] | None:
        """Return the client certificate and key (PEM) that the plugin issued, if it did."""
        return (await self._current()).certificate

    async def refresh(self) -> bool:
        refused = self._issued
        async with self._running:
            # Many requests are refused at once when a token ends; one run serves them all.
            if self._issued is None or self._issued is refused:
                self._issued = await issue(self._plugin, self._clock.utc())
            return refused is None or self._issued.headers != refused.headers

    async def _current(self) -> Issued:
        async with self._running:
            now = self._clock.utc()
            if self._issued is None or not self._issued.is_fresh(now):
                self._issued = await issue(self._plugin, now)
            return self._issued


async def issue(plugin: Plugin, now: datetime) -> Issued:
    """Run ``plugin`` and check its answer."""
    return understood(plugin, await _run(plugin), now)


def understood(plugin: Plugin, output: bytes, now: datetime) -> Issued:
    """Return the credential that a plugin has answered with; raise ``BadConfig`` if it is none."""
    # Errors of the decoder are dropped, because their text may quote the answer.
    try:
        answer = msgspec.json.decode(output, type=ExecCredential)
    except UNREADABLE:
        raise _failure(plugin, "it did not answer with an ExecCredential in JSON") from None
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        found = shown(f"{answer.kind} of {answer.api_version}")
        wanted = f"an ExecCredential of {plugin.api_version}"
        raise _failure(plugin, f"it answered with {found} instead of {wanted}")
    status = answer.status or Status()
    if not status.token and not status.client_certificate_data:
        raise _failure(plugin, "its answer holds neither a token nor a client certificate")
    try:
        headers = bearer(status.token) if status.token else {}
    except ValueError:
        raise _failure(plugin, "its token holds characters that a header cannot carry") from None
    return Issued(headers, _certificate(plugin, status), _fresh_until(status, now))


def _certificate(plugin: Plugin, status: Status) -> tuple[bytes, bytes] | None:
    if not status.client_certificate_data and not status.client_key_data:
        return None
    at = Place(f"{plugin.place.file}: {plugin.place.path}", "status.clientCertificateData")
    key_at = Place(at.file, "status.clientKeyData")
    pair = status.client_certificate_data.encode(), status.client_key_data.encode()
    check_pair(pair[0], at, pair[1], key_at)
    return pair


def _fresh_until(status: Status, now: datetime) -> datetime | None:
    expires = status.expiration_timestamp
    if expires is None:
        return None
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    # A credential that lives for seconds only must not be stale the moment it arrives.
    return expires - min(MARGIN, max(timedelta(), expires - now) / 10)


class _Heard(asyncio.SubprocessProtocol):
    """What a running plugin has said so far, and how far it is."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.complaint = bytearray()
        self.decided = asyncio.Event()  # it exited, or said more than anybody will read
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()  # it exited, and nobody can write to its pipes any more

    def is_too_large(self) -> bool:
        return len(self.output) > MOST_OUTPUT

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        # All of it is read, because a plugin that cannot write hangs, but little is kept.
        if fd == 1:
            self.output += data[: MOST_OUTPUT + 1 - len(self.output)]
        else:
            self.complaint += data[: MOST_COMPLAINT - len(self.complaint)]
        if self.is_too_large():
            self.decided.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.decided.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self.closed.set()


async def _run(plugin: Plugin) -> bytes:
    interactive = _is_interactive(plugin)
    limit = PATIENCE_WITH_PEOPLE if interactive else PATIENCE
    limit = limit if plugin.patience is None else plugin.patience
    transport, heard = await _start(plugin, interactive)
    try:
        async with asyncio.timeout(limit):
            await heard.decided.wait()
        if not heard.is_too_large():
            await _rest(heard)
    except TimeoutError:
        raise _failure(plugin, f"it did not answer within {limit:g} s") from None
    finally:
        await _end(transport, heard, interactive)
    if heard.is_too_large():
        raise _failure(plugin, f"answer larger than {MOST_OUTPUT >> 20} MiB")
    if code := transport.get_returncode():
        raise _failure(plugin, f"it failed with code {code}{_last_line(heard.complaint)}")
    return bytes(heard.output)


async def _rest(heard: _Heard) -> None:
    """Wait for what is still in the pipes, which a child left behind may hold open for ever."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGERING):
            await heard.closed.wait()


async def _start(plugin: Plugin, interactive: bool) -> tuple[asyncio.SubprocessTransport, _Heard]:
    spec: JsonObject = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    asked = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
    environment = {**os.environ, **plugin.env, **asked}
    command = shutil.which(plugin.command, path=environment.get("PATH"))
    if command is None:
        raise _failure(plugin, "no such program, or it may not be run", hint=True)
    try:
        return await asyncio.get_running_loop().subprocess_exec(
            _Heard,
            command,
            *plugin.args,
            stdin=None if interactive else DEVNULL,
            stdout=PIPE,
            # A plugin that talks to a person does so over standard error.
            stderr=None if interactive else PIPE,
            env=environment,
            # Its own session, so that whatever it started can be ended with it; but one that
            # talks to a person needs our terminal.
            start_new_session=not interactive,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a zero byte in its arguments"
        raise _failure(plugin, f"it cannot be run: {reason}", hint=True) from None


async def _end(transport: asyncio.SubprocessTransport, heard: _Heard, interactive: bool) -> None:
    try:
        with suppress(ProcessLookupError):
            if interactive:
                transport.kill()
            else:
                os.killpg(transport.get_pid(), signal.SIGKILL)
        await heard.exited.wait()
    finally:
        # Ours to close: a child that left the plugin's session may keep the other ends open.
        transport.close()
    await heard.closed.wait()


def _is_interactive(plugin: Plugin) -> bool:
    if plugin.interactive == "Never":
        return False
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive == "Always" and not terminal:
        raise _failure(plugin, "it needs a terminal (interactiveMode Always), and there is none")
    return terminal


def _last_line(complaint: bytearray) -> str:
    lines = complaint.decode("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f": {said}" if (said := one_line(last, LONGEST_COMPLAINT)) else ""


def _failure(plugin: Plugin, problem: str, *, hint: bool = False) -> BadConfig:
    text = f"plugin {shown(plugin.command)}: {problem}"
    if hint and plugin.install_hint:
        text += "; " + one_line(plugin.install_hint, LONGEST_HINT)
    return plugin.place.wrong(text)
