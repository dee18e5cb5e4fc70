"""Credential plugins as real programs."""

import asyncio
import io
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from isthmus.kube.access import Access
from isthmus.kube.document import Place
from isthmus.kube.errors import BadConfig
from isthmus.kube.exec import ExecToken, understood
from isthmus.kube.kubeconfig import load, settled
from isthmus.kube.plugin import Plugin
from isthmus.model.wire import Json, JsonObject
from isthmus.runtime.clock import SystemClock
from tests.support.certificates import self_signed
from tests.support.kubeconfigs import CANARY, b64, kubeconfig, written
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
ME = self_signed("me")
EXEC = "users[admin].user.exec"


class Wall(SystemClock):
    """A clock whose date the test sets."""

    def __init__(self) -> None:
        self.date = datetime(2030, 1, 1, tzinfo=UTC)

    def utc(self) -> datetime:
        return self.date


def script(directory: Path, body: str) -> str:
    """Write a plugin that counts its runs, then does what ``body`` says."""
    path = directory / "plugin"
    count = f"echo run >> {directory}/runs"
    path.write_text(f"#!/bin/sh\n{count}\n{body}\n")
    path.chmod(0o755)
    return "./plugin"


def runs(directory: Path) -> int:
    path = directory / "runs"
    return len(path.read_text().split()) if path.exists() else 0


def has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


async def ended(pid: str) -> None:
    """Wait for a process to be gone: a kill is sent at once and felt a moment later."""
    await eventually(lambda: has_ended(int(pid)), within=10)


def says(status: JsonObject | None, version: str = V1) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"cat <<'END'\n{json.dumps(answer)}\nEND"


# What somebody wants all plugins to be told about a cluster, among other notes.
NOTES: list[JsonObject] = [
    {"name": "example.org/owner", "extension": "bob"},
    {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "west"}},
]


def access(
    directory: Path,
    body: str,
    clock: SystemClock | None = None,
    notes: list[JsonObject] | None = None,
    **fields: Json,
) -> Access:
    basis = {"apiVersion": V1, "command": script(directory, body), "interactiveMode": "Never"}
    cluster = {} if notes is None else {"extensions": notes}
    config = kubeconfig(user={"exec": {**basis, **fields}}, cluster=cluster)
    return load([written(directory, config)], clock or SystemClock())


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_answers_with_a_token(tmp_path: Path, version: str) -> None:
    found = access(tmp_path, says({"token": CANARY}, version), apiVersion=version)
    assert await found.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}
    assert await found.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}
    assert await settled(found) == found.server
    assert runs(tmp_path) == 1
    assert CANARY not in repr(found) + repr(found.credentials)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[" * 100_000, id="bottomless"),
        pytest.param(b'{"kind": "\xff", "apiVersion": ""}', id="no text"),
    ],
)
def test_an_answer_that_is_none_is_named_and_not_quoted(output: bytes) -> None:
    plugin = Plugin(place=Place("config", EXEC), api_version=V1, command="plugin")
    with pytest.raises(BadConfig, match="it did not answer with an ExecCredential in JSON"):
        understood(plugin, output, datetime(2030, 1, 1, tzinfo=UTC))


async def test_a_token_is_kept_until_shortly_before_it_expires(tmp_path: Path) -> None:
    clock = Wall()
    expires = (clock.date + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    status = {"token": CANARY, "expirationTimestamp": expires}
    credentials = access(tmp_path, says(status), clock).credentials
    await credentials.headers()
    clock.date += timedelta(minutes=59, seconds=29)
    await credentials.headers()
    assert runs(tmp_path) == 1
    clock.date += timedelta(seconds=2)
    await credentials.headers()
    assert runs(tmp_path) == 2


async def test_many_refused_requests_run_the_plugin_once(tmp_path: Path) -> None:
    body = f'sed "s/N/$(wc -l < {tmp_path}/runs)/" <<END\n{says({"token": "tN"})[11:]}'
    credentials = access(tmp_path, body).credentials
    assert await credentials.headers() == {"Authorization": "Bearer t1"}
    assert await asyncio.gather(*(credentials.refresh() for _ in range(5))) == [True] * 5
    assert await credentials.headers() == {"Authorization": "Bearer t2"}
    assert runs(tmp_path) == 2


async def test_a_plugin_can_issue_a_client_certificate(tmp_path: Path) -> None:
    status = {
        "clientCertificateData": ME.certificate.decode(),
        "clientKeyData": ME.key.decode(),
    }
    found = access(tmp_path, says(status))
    endpoint = await settled(found)
    assert (endpoint.client_cert_pem, endpoint.client_key_pem) == ME
    assert await found.credentials.headers() == {}
    assert runs(tmp_path) == 1


@pytest.mark.parametrize("notes", [NOTES, NOTES[:1], None])
async def test_a_plugin_gets_its_arguments_variables_and_the_cluster(
    tmp_path: Path, notes: list[JsonObject] | None
) -> None:
    body = f'echo "$1,$MINE,$KUBERNETES_EXEC_INFO" > {tmp_path}/got\n{says({"token": "t"})}'
    found = access(
        tmp_path,
        body,
        args=["one"],
        env=[{"name": "MINE", "value": "two"}],
        provideClusterInfo=True,
        notes=notes,
    )
    await found.credentials.headers()
    one, two, info = (tmp_path / "got").read_text().split(",", 2)
    assert (one, two) == ("one", "two")
    assert json.loads(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://192.0.2.1:6443",
                "certificate-authority-data": b64(self_signed("ca").certificate),
                **({"config": {"audience": "west"}} if notes == NOTES else {}),
            },
        },
    }


async def test_a_plugin_is_found_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, says({"token": CANARY}))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = access(tmp_path, says({"token": CANARY}), command="plugin")
    assert await found.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}


@pytest.mark.parametrize(
    "body, problem",
    [
        pytest.param(
            f"echo {CANARY}; echo first >&2; echo 'log in first' >&2; echo >&2; exit 3",
            "it failed with code 3: log in first",
            id="a failure shows the last words of standard error",
        ),
        pytest.param("exit 1", "it failed with code 1", id="a failure without a word"),
        pytest.param(
            f"echo {CANARY}",
            "it did not answer with an ExecCredential in JSON",
            id="no JSON",
        ),
        pytest.param(
            says({"token": {"a": CANARY}}),
            "it did not answer with an ExecCredential in JSON",
            id="a token that is no text",
        ),
        pytest.param(
            says({"token": CANARY}, V1BETA1),
            f"it answered with ExecCredential of {V1BETA1} instead of an ExecCredential of {V1}",
            id="another version",
        ),
        pytest.param(
            says(None),
            "its answer holds neither a token nor a client certificate",
            id="no status",
        ),
        pytest.param(
            says({"token": f"{CANARY}\r\nX: y"}),
            "its token holds characters that a header cannot carry",
            id="a token that would smuggle a header",
        ),
    ],
)
async def test_a_plugin_that_fails_is_named_without_its_output(
    tmp_path: Path, body: str, problem: str
) -> None:
    found = access(tmp_path, body, installHint="install it")
    with pytest.raises(BadConfig) as raised:
        await found.credentials.headers()
    place = f"{tmp_path / 'config'}: {EXEC}: plugin {tmp_path / 'plugin'}"
    assert str(raised.value) == f"{place}: {problem}"
    assert CANARY not in str(raised.value)


async def test_a_key_that_does_not_belong_to_the_certificate_is_named(tmp_path: Path) -> None:
    status = {
        "clientCertificateData": ME.certificate.decode(),
        "clientKeyData": self_signed("other").key.decode(),
    }
    with pytest.raises(BadConfig, match=r"exec: status\.clientKeyData: the key does not belong"):
        await settled(access(tmp_path, says(status)))


async def test_a_missing_plugin_comes_with_its_install_hint(tmp_path: Path) -> None:
    found = access(tmp_path, "", command="no-such-plugin", installHint="get it:\n  brew it")
    with pytest.raises(BadConfig) as raised:
        await found.credentials.headers()
    assert str(raised.value) == (
        f"{tmp_path / 'config'}: {EXEC}: plugin no-such-plugin: "
        "no such program, or it may not be run; get it: brew it"
    )


async def test_a_plugin_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    body = f"sleep 600 &\necho $! > {tmp_path}/child\nwait"
    plugin = Plugin(
        place=Place("config", "exec"),
        api_version=V1,
        command=str(tmp_path / script(tmp_path, body)),
        interactive="Never",
        patience=0.5,
    )
    with pytest.raises(BadConfig, match=r"it did not answer within 0\.5 s"):
        await ExecToken(plugin, SystemClock()).headers()
    await ended((tmp_path / "child").read_text())


@pytest.mark.parametrize("body", ["exec yes", "yes"])
async def test_a_plugin_that_never_stops_talking_is_ended_at_once(
    tmp_path: Path, body: str
) -> None:
    found = access(tmp_path, body.replace("yes", f"yes {CANARY}"))
    async with asyncio.timeout(20):
        with pytest.raises(BadConfig, match=r"answer larger than 1 MiB$"):
            await found.credentials.headers()


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1])
async def test_an_answer_may_be_as_large_as_the_limit(tmp_path: Path, size: int) -> None:
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": CANARY}}
    (tmp_path / "answer").write_text(json.dumps(answer).ljust(size))
    found = access(tmp_path, f"cat {tmp_path}/answer")
    if size > 1 << 20:
        with pytest.raises(BadConfig, match=r"answer larger than 1 MiB$"):
            await found.credentials.headers()
    else:
        assert await found.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}


@pytest.mark.parametrize("session", ["", "setsid "], ids=["its session", "another session"])
async def test_a_child_left_behind_does_not_hold_the_answer_up(
    tmp_path: Path, session: str
) -> None:
    body = f"{session}sleep 600 &\necho $! > {tmp_path}/child\n{says({'token': CANARY})}"
    try:
        async with asyncio.timeout(20):
            headers = await access(tmp_path, body).credentials.headers()
        assert headers == {"Authorization": f"Bearer {CANARY}"}
    finally:
        child = int((tmp_path / "child").read_text())
        if not has_ended(child):
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("prefix", ["", "trap '' INT; "], ids=["alone", "as a background job"])
async def test_a_command_that_is_terminated_takes_its_plugin_along(
    tmp_path: Path, prefix: str
) -> None:
    access(tmp_path, f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 600")
    isthmus = Path(sys.executable).with_name("isthmus")
    line = f"{prefix}exec {isthmus} --kubeconfig {tmp_path}/config check"
    process = await asyncio.create_subprocess_exec("sh", "-c", line, stdout=PIPE, stderr=PIPE)

    async def has_started() -> bool:
        return (tmp_path / "pid").exists()

    try:
        await until(has_started, bool, within=20)
        process.terminate()
        async with asyncio.timeout(20):
            printed, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert (process.returncode, printed, complaints.strip()) == (143, b"", b"")
    await ended((tmp_path / "pid").read_text())


async def test_a_plugin_that_needs_a_terminal_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = access(tmp_path, says({"token": "t"}), interactiveMode="Always")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(BadConfig, match="it needs a terminal"):
        await found.credentials.headers()
    assert runs(tmp_path) == 0


async def test_a_token_in_the_kubeconfig_makes_the_plugin_unnecessary(tmp_path: Path) -> None:
    plugin = {"apiVersion": V1, "command": script(tmp_path, "exit 1")}
    path = written(tmp_path, kubeconfig(user={"exec": plugin, "token": CANARY}))
    credentials = load([path], SystemClock()).credentials
    assert await credentials.headers() == {"Authorization": f"Bearer {CANARY}"}
    assert runs(tmp_path) == 0


async def test_an_expiry_without_a_zone_is_meant_in_utc(tmp_path: Path) -> None:
    wall = Wall()
    status = {"token": CANARY, "expirationTimestamp": "2030-01-01T01:00:00"}
    credentials = access(tmp_path, says(status), wall).credentials
    await credentials.headers()
    wall.date += timedelta(minutes=30)
    await credentials.headers()
    assert runs(tmp_path) == 1
    wall.date += timedelta(minutes=31)
    await credentials.headers()
    assert runs(tmp_path) == 2


async def test_a_program_that_is_none_comes_with_its_install_hint(tmp_path: Path) -> None:
    found = access(tmp_path, "", installHint="install it")
    (tmp_path / "plugin").write_bytes(b"\0\0 no program")
    with pytest.raises(BadConfig, match=r"it cannot be run: Exec format error; install it$"):
        await found.credentials.headers()


async def test_arguments_that_no_program_can_be_given_are_named(tmp_path: Path) -> None:
    found = access(tmp_path, "", args=["a\0b"], installHint="install it")
    with pytest.raises(BadConfig, match=r"it cannot be run: a zero byte in its arguments; install"):
        await found.credentials.headers()


async def test_a_plugin_that_talks_to_a_person_and_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = Plugin(
        place=Place("config", "exec"),
        api_version=V1,
        command=str(tmp_path / script(tmp_path, f"echo $$ > {tmp_path}/pid\nexec sleep 600")),
        interactive="Always",
        patience=0.5,
    )
    ours, theirs = os.openpty()
    try:
        with os.fdopen(theirs) as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            with pytest.raises(BadConfig, match=r"it did not answer within 0\.5 s"):
                await ExecToken(plugin, SystemClock()).headers()
    finally:
        os.close(ours)
    await ended((tmp_path / "pid").read_text())
