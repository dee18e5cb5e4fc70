"""The demo, as a user sees it: every step of its story really happens, and nothing is left."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.embedded.machine.ports import permitted
from tests.support.processes import processes_in

PATIENCE = 120.0  # seconds for a whole story on a busy machine
MOVED = "" if permitted().at(80) == 80 else f":{permitted().at(80)}"
POD = f"http://{{}}.nginx-svc-west.default.svc.east.cluster.local{MOVED}"
CURL = "spiffe://east.isthmus/ns/default/sa/curl"
GATEWAY = "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway"


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for temporary files with a short name, as the sockets of Envoys need it."""
    with tempfile.TemporaryDirectory(prefix="d-") as made:
        yield Path(made)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "isthmus", *arguments]


@contextmanager
def demo(home: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A demo that is killed if it hangs, which ends its output, and with it whoever reads it."""
    environment = {**os.environ, "TMPDIR": str(home), "NO_COLOR": "1"}
    with subprocess.Popen(
        command("demo", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        too_late = threading.Timer(PATIENCE, process.kill)
        too_late.start()
        try:
            yield process
        finally:
            too_late.cancel()
            process.kill()


def steps(printed: str) -> list[tuple[str, str]]:
    """What was typed, and what it answered."""
    _, *parts = re.split(r"^\$ ", printed, flags=re.MULTILINE)
    found = []
    for part in parts:
        typed, _, answer = part.partition("\n")
        found.append((typed, answer.partition("\n\n")[0]))
    return found


def test_every_step_of_the_story_really_happens(home: Path) -> None:
    with demo(home) as process:
        printed, complaints = process.communicate()
    assert (process.returncode, complaints) == (0, ""), printed
    assert "\x1b" not in printed
    told = iter(steps(printed))

    def next_answer(*words: str) -> str:
        """What the next step answers, which is about ``words``."""
        typed, answer = next(told)
        assert [word for word in words if word not in shlex.split(typed)] == [], typed
        return answer

    assert "anchor/anchor.key  keep it offline" in next_answer("trust", "create")
    for cluster in ("west", "east"):
        issued = next_answer("isthmus", "trust", "issue", "--secret", cluster)
        assert re.fullmatch(
            rf"Issuer of {cluster}\.isthmus, until \S+Z\nsecret/isthmus-issuer serverside-applied",
            issued,
        )
        trusted = next_answer("create", "configmap", "isthmus-trust", cluster)
        assert trusted == "configmap/isthmus-trust created"
    ours = r"isthmus-{}-\S+ +1/1 +Running +0 +\d+s"
    for cluster in ("west", "east"):
        pods = next_answer("get", "pods", "isthmus", cluster).splitlines()[1:]
        for line, name in zip(pods, ("controller", "egress", "gateway"), strict=True):
            assert re.fullmatch(ours.format(name), line)
    services = next_answer("get", "services", "isthmus", "west")
    (gateway,) = re.findall(r"^isthmus-gateway +LoadBalancer +(\S+) +\1 ", services, re.MULTILINE)

    assert "serviceAccounts: [default/curl]" in next_answer("cat", "grant-east.yaml")
    assert next_answer("apply", "grant-east.yaml") == "grant.isthmus.dev/east created"
    assert re.search(r"^east +east +True ", next_answer("get", "grants"), re.MULTILINE)
    link = next_answer("cat", "link-west.yaml")
    assert f"addresses: [{gateway}]" in link
    assert "credential" not in link.lower()
    assert next_answer("apply", "link-west.yaml") == "link.isthmus.dev/west created"
    assert re.search(r"^west +True +True +0 ", next_answer("get", "links"), re.MULTILINE)

    created = next_answer("apply", "nginx.yaml")
    assert created == "service/nginx-svc created\nstatefulset.apps/nginx-set created"
    next_answer("apply", "callers.yaml")
    sets = [line.split()[0] for line in next_answer("get", "pods", "west").splitlines()[1:]]
    assert sets == [f"nginx-set-{number}" for number in range(3)]
    next_answer("get", "pods", "east")

    label = "mirror.linkerd.io/exported"
    assert next_answer("label", f"{label}=true") == "service/nginx-svc labeled"
    addresses = mirrors(next_answer("get", "services", "east"), 3)
    for pod in ("nginx-set-0", "nginx-set-2"):
        was_answered(next_answer("call", "east/curl", POD.format(pod)), pod)
    refused = next_answer("call", "east/stranger", POD.format("nginx-set-0"))
    assert refused == "HTTP 403 Forbidden\nRBAC: access denied"

    next_answer("scale", "isthmus-gateway", "--replicas=0")
    assert re.search(r"^west +False +False +4 ", next_answer("get", "links"), re.MULTILINE)
    assert mirrors(next_answer("get", "services", "east"), 3) == addresses
    no_name = next_answer("call", "east/curl", POD.format("nginx-set-0"))
    assert no_name.endswith("no such name in east.cluster.local")
    next_answer("scale", "isthmus-gateway", "--replicas=1")
    assert re.search(r"^west +\S+ +True +4 ", next_answer("get", "links"), re.MULTILINE)
    was_answered(next_answer("call", POD.format("nginx-set-0")), "nginx-set-0")

    next_answer("scale", "statefulset", "nginx-set", "--replicas=5")
    grown = mirrors(next_answer("get", "services", "east"), 5)
    assert addresses.items() <= grown.items(), "siblings are untouched"
    was_answered(next_answer("call", POD.format("nginx-set-4")), "nginx-set-4")
    assert next_answer("label", f"{label}-") == "service/nginx-svc unlabeled"
    assert "-west" not in next_answer("get", "services", "east")
    gone = next_answer("call", "east/curl", POD.format("nginx-set-0"))
    assert gone.endswith("no such name in east.cluster.local")
    assert next(told, None) is None
    assert list(home.iterdir()) == []
    assert processes_in(home) == []


def mirrors(answer: str, pods: int) -> dict[str, str]:
    """The addresses of all mirrors, which are those of so many pods and of their Service."""
    rows = re.findall(r"^(\S+-west) +ClusterIP +(\S+) +<none> +80/TCP", answer, re.MULTILINE)
    names = [f"nginx-set-{number}-west" for number in range(pods)]
    assert [name for name, _ in rows] == [*names, "nginx-svc-west"]
    return dict(rows)


def was_answered(answer: str, pod: str) -> None:
    status, *lines = answer.splitlines()
    assert (status, lines[0]) == ("HTTP 200 OK", f"Welcome, this is {pod}")
    told = dict(line.split(": ", 1) for line in lines[1:])
    assert f"http://{told['host']}" == POD.format(pod)
    caller = dict(part.split("=", 1) for part in told["x-forwarded-client-cert"].split(";"))
    assert (caller["URI"], caller["By"]) == (CURL, GATEWAY)


def test_the_demo_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "kubeconfig"
    mine.write_text("mine")
    assert main.run(["demo", "--once", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"isthmus: {mine} exists already; remove it or name another directory\n"
    )
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("pod", ["curl", "east/", "east/a/b/c", "east/Curl", "/curl"])
def test_a_call_needs_a_pod(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "call", pod, "http://web"]) == 1
    assert "name a pod by its cluster and its name" in capsys.readouterr().err
