"""Containers that are processes: what they are told, and what becomes of those that end."""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from isthmus.embedded.fronts.server import serve
from isthmus.embedded.machine import life
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.objects import PLAIN_PODS
from isthmus.embedded.machine.processes import process
from isthmus.embedded.machine.programs import PROGRAMS, House
from isthmus.kube.resources import untyped
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from isthmus.runtime.backoff import Backoff
from tests.support import machine as machines
from tests.support.machine import NOT_YET, Admin, Reply, call, pod
from tests.support.processes import is_alive
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

CONFIG_MAPS = untyped("v1", "ConfigMap", "configmaps", namespaced=True)
# Answers every page with what follows it: a file, a variable, or its own words.
SERVER = dedent("""
    import http.server, os, sys
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            what, _, name = self.path.lstrip("/").partition("/")
            try:
                found = {
                    "file": lambda: open(os.environ[name]).read(),
                    "variable": lambda: os.environ[name],
                    "words": lambda: " ".join(sys.argv[1:]),
                    "process": lambda: str(os.getpid()),
                }[what]()
            except (KeyError, OSError):
                return self.send_error(404)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(found.encode())
    http.server.HTTPServer((os.environ["POD_IP"], int(os.environ["PORT"])), Page).serve_forever()
    """)
POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def container(
    *args: str, code: str = SERVER, env: tuple[JsonObject, ...] = (), **more: Json
) -> JsonObject:
    return {
        "name": "main",
        "image": "python",
        "command": [sys.executable, "-c", code],
        "args": list(args),
        "env": [POD_IP, *env],
        "ports": [{"name": "http", "containerPort": 8080}],
        **more,
    }


@asynccontextmanager
async def running(
    *objects: JsonObject, folder: Path | None = None
) -> AsyncIterator[tuple[Machine, Admin]]:
    """A cluster whose API is served, and in which containers are processes."""
    west = machines.cluster("west")
    kubectl = machines.admin(west)
    await kubectl.create(*objects, pod("curl"))
    async with (
        serve(west) as served,
        Machine(
            west,
            programs={**PROGRAMS, "python": process},
            house=House(folder=folder, logs=folder, api=served.url),
        ) as machine,
    ):
        yield machine, kubectl


async def ask(machine: Machine, path: str) -> Reply:
    address = machine.pod("web").status.pod_ip
    return await call(machine, "curl", f"http://{address}:8080/{path}")


async def told(kubectl: Admin, name: str = "web") -> JsonObject:
    """What the API says about the pod's one container."""
    found = await kubectl.client.get(PLAIN_PODS, Key("default", name))
    (status,) = found["status"].get("containerStatuses") or [{}]
    return dict(status)


async def test_a_process_is_told_its_variables_and_where_its_mounts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/somebody/.kube/config")
    mounts = [
        {"name": "settings", "mountPath": "/etc/settings"},
        {"name": "scratch", "mountPath": "/run/x"},
    ]
    volumes = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    env = (
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "COLOUR", "value": "/etc/settings/colour"},
    )
    web = container("--name", "$(NAME)", "--dir=/run/x", env=env, volumeMounts=mounts)
    async with running(pod("web", containers=[web], volumes=volumes), folder=tmp_path) as (
        machine,
        kubectl,
    ):
        waits = await until(lambda: told(kubectl), lambda one: "waiting" in one.get("state", {}))
        assert 'configmap "settings" not found' in waits["state"]["waiting"]["message"]
        metadata = {"name": "settings", "namespace": "default"}
        await kubectl.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"colour": "red"}})
        await kubectl.until_ready("curl", "web")

        words = (await ask(machine, "words")).body
        found = re.fullmatch(r"--name web --dir=(\S+)", words)
        assert found is not None, words
        scratch = Path(found[1])
        assert scratch.is_relative_to(tmp_path)
        assert (await ask(machine, "file/COLOUR")).body == "red"
        changed = {"data": {"colour": "blue"}}
        await kubectl.client.merge_patch(CONFIG_MAPS, Key("default", "settings"), changed)

        async def colour() -> str:
            return (await ask(machine, "file/COLOUR")).body

        await until(colour, lambda seen: seen == "blue")
        kubeconfig = Path((await ask(machine, "variable/KUBECONFIG")).body)
        assert kubeconfig.is_relative_to(tmp_path), "the user's own clusters are not the pod's"
        for path in (kubeconfig.parent, scratch.parent):
            assert path.stat().st_mode & 0o077 == 0
        await kubectl.delete("Pod", "web")
        await kubectl.until_ready("curl")
        assert os.listdir(tmp_path) == ["default_web_main.log"], "the volumes are gone"
        assert f"--name web --dir={scratch}\n" in (tmp_path / "default_web_main.log").read_text()


async def test_a_process_talks_to_the_api_as_its_own_account(tmp_path: Path) -> None:
    code = dedent("""
        import asyncio
        from isthmus.cli.where import Where
        from isthmus.kube.resources import PODS
        from isthmus.model.errors import IsthmusError
        async def main():
            async with Where(None, None).connected() as client:
                try:
                    await client.list(PODS)
                except IsthmusError as error:
                    print(error, flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
        """)
    probe = {"exec": {"command": ["true"]}}
    web = container(code=code, readinessProbe=probe)
    async with running(pod("web", containers=[web]), folder=tmp_path) as (_, kubectl):
        await kubectl.until_ready("curl", "web")
        log = tmp_path / "default_web_main.log"
        await eventually(lambda: "system:serviceaccount:default:default" in log.read_text())
        assert "forbidden" in log.read_text().lower()


async def test_a_process_that_was_killed_comes_back_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(life, "CRASHED", Backoff(first=0.1, cap=0.1))
    probe = {"httpGet": {"path": "/process", "port": "http"}, "periodSeconds": 1}
    web = pod("web", containers=[container(readinessProbe=probe)])
    async with running(web) as (machine, kubectl):
        await kubectl.until_ready("curl", "web")
        for times in (1, 2, 3):
            number = int((await ask(machine, "process")).body)
            os.kill(number, signal.SIGKILL)
            await until(lambda: told(kubectl), lambda one, n=times: one["restartCount"] == n)  # type: ignore[misc]  # bound now
            await kubectl.until_ready("curl", "web")
            assert (await ask(machine, "process")).body != str(number)
        last = (await told(kubectl))["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (137, "Error")


async def test_one_that_does_not_live_long_waits_before_it_is_tried_again() -> None:
    probe = {"tcpSocket": {"port": 8080}}
    web = pod("web", containers=[container(code="raise SystemExit(3)", readinessProbe=probe)])
    async with running(web) as (_, kubectl):
        waits = await until(
            lambda: told(kubectl),
            lambda one: one.get("restartCount", 0) >= 2 and "waiting" in one["state"],
        )
        assert waits["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert waits["lastState"]["terminated"]["exitCode"] == 3
        assert not waits["ready"]


async def test_one_that_does_not_answer_any_more_is_started_anew() -> None:
    is_hung = "import pathlib, sys; p = pathlib.Path(sys.argv[1], 'began')\n"
    code = is_hung + dedent("""
        import time
        if not p.exists():
            p.touch()
            time.sleep(60)
        """)
    probe = {
        "httpGet": {"path": "/process", "port": 8080},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    web = container(
        "/run/x",
        code=code + SERVER,
        volumeMounts=[{"name": "scratch", "mountPath": "/run/x"}],
        livenessProbe={**probe, "initialDelaySeconds": 1},
        readinessProbe=probe,
    )
    volumes = [{"name": "scratch", "emptyDir": {}}]
    async with running(
        pod("web", containers=[web], volumes=volumes, terminationGracePeriodSeconds=1)
    ) as (
        machine,
        kubectl,
    ):
        await kubectl.until_ready("curl", "web")
        assert (await told(kubectl))["restartCount"] >= 1
        assert (await ask(machine, "process")).status == 200


async def test_a_pod_is_ready_only_while_its_probe_passes(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    probe = {
        "httpGet": {"path": "/file/FLAG", "port": "http"},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    web = container(env=({"name": "FLAG", "value": str(flag)},), readinessProbe=probe)
    async with running(pod("web", containers=[web])) as (machine, kubectl):

        async def page() -> int:
            try:
                return (await ask(machine, "process")).status
            except NOT_YET:
                return 0

        await until(lambda: told(kubectl), lambda one: "running" in one.get("state", {}))
        await until(page, lambda seen: seen == 200)
        assert not (await told(kubectl))["ready"]
        flag.write_text("up")
        await kubectl.until_ready("curl", "web")
        flag.unlink()
        await until(lambda: told(kubectl), lambda one: not one["ready"])
        assert (await told(kubectl))["restartCount"] == 0


async def test_a_process_has_as_long_to_end_as_its_pod_says() -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    web = pod("web", containers=[container(code=deaf + SERVER)], terminationGracePeriodSeconds=1)
    async with running(web) as (machine, kubectl):
        await kubectl.until_ready("curl", "web")
        number = int((await ask(machine, "process")).body)
        await kubectl.delete("Pod", "web")
        assert is_alive(number)
        await kubectl.until_ready("curl")
        assert not is_alive(number)


async def test_a_process_that_ends_in_good_order_is_not_waited_for() -> None:
    polite = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    web = pod(
        "web", containers=[container(code=polite + SERVER)], terminationGracePeriodSeconds=3600
    )
    async with running(web) as (_, kubectl):
        await kubectl.until_ready("curl", "web")
        await kubectl.delete("Pod", "web")
        await kubectl.until_ready("curl")


async def test_a_machine_that_ends_waits_for_nobody() -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    web = pod("web", containers=[container(code=deaf + SERVER)], terminationGracePeriodSeconds=3600)
    async with running(web) as (machine, kubectl):
        await kubectl.until_ready("curl", "web")
        number = int((await ask(machine, "process")).body)
    assert not is_alive(number)


@pytest.mark.parametrize(
    "command, why",
    [
        pytest.param([], "pod default/web: container main has no command", id="nothing to run"),
        pytest.param(["no-such-program"], "no program 'no-such-program'", id="not here"),
        pytest.param([sys.executable, "-c", "exit(3)"], "container main ended with 3", id="ends"),
    ],
)
async def test_a_process_that_does_not_start_says_why(command: list[str], why: str) -> None:
    web = pod("web", containers=[{**container(), "command": command}])
    async with running(web) as (_, kubectl):
        waits = await until(lambda: told(kubectl), lambda one: "waiting" in one.get("state", {}))
        assert why in waits["state"]["waiting"]["message"]
