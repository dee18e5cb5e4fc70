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
from tests.support.processes import processes_in

PATIENCE = 240.0  # seconds for a whole story on a busy machine
POD = "http://{}.nginx-svc-west.default.svc.east.cluster.local"
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


def steps(printed: str) -> list[tuple[list[str], str]]:
    """The words that were typed, and what they answered."""
    _, *parts = re.split(r"^\$ ", printed.replace("\\\n", " "), flags=re.MULTILINE)
    found = []
    for part in parts:
        typed, _, rest = part.partition("\n")
        answer = re.split(r"\n\n(?=# |It is that|But they|That is all)|\n\n\Z", rest)[0]
        found.append((shlex.split(typed), answer))
    return found


@pytest.mark.e2e
def test_every_step_of_the_story_really_happens(home: Path) -> None:
    with demo(home) as process:
        printed, complaints = process.communicate()
    assert (process.returncode, complaints) == (0, ""), printed
    assert "\x1b" not in printed
    told = iter(steps(printed))

    def next_answer(*words: str) -> str:
        """What the next step answers, which is about ``words``."""
        typed, answer = next(told)
        assert [word for word in words if word not in typed] == [], typed
        return answer

    assert "anchor/anchor.key  keep it offline" in next_answer("trust", "create")
    assert "drain: 1" in next_answer("cat", "quick.yaml")
    installed = next_answer("isthmus", "install", "west", "--anchor", "--apply")
    assert "secret/isthmus-issuer created" in installed
    assert re.search(r"^Isthmus \S+ is installed in isthmus, as west$", installed, re.MULTILINE)
    assert re.search(r"as east\n  a new issuer of east\.isthmus, until ", next_answer("east"))
    ours = r"isthmus-{}-\S+ +1/1 +Running +0 +\d+s"
    for cluster in ("west", "east"):
        pods = next_answer("get", "pods", "isthmus", cluster).splitlines()[1:]
        for line, name in zip(pods, ("controller", "egress", "gateway"), strict=True):
            assert re.fullmatch(ours.format(name), line)
    checked = next_answer("isthmus", "check", "west")
    assert "√ the gateway runs (1 of 1 pods are ready)" in checked
    assert checked.endswith("Status check results are √")

    assert next_answer("allow", "east", "default/curl") == "grant.isthmus.dev/east created"
    link = next_answer("isthmus", "west", "link", "|", "kubectl", "east", "apply")
    assert link == "link.isthmus.dev/west created"
    next_answer("wait", "link/west", "--for=condition=GatewayAlive=True")
    assert re.search(r"^west +True +0 +[\d.]+\S+$", next_answer("gateways"), re.MULTILINE)
    assert next_answer("check", "east").endswith("Status check results are √")

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
        was_answered(next_answer("exec", "curl", POD.format(pod)), pod)
    refused = next_answer("exec", "stranger", POD.format("nginx-set-0"))
    assert refused.startswith("curl: (22) The requested URL returned error: 403\n")
    why = next_answer("why", "default/stranger")
    assert re.search(r"^× grant ", why, re.MULTILINE)  # noqa: RUF001  # the sign of a failure
    mend = r"^ +fix: isthmus --context west allow east .*--from-service-account default/stranger "
    assert re.search(mend, why, re.MULTILINE)

    next_answer("scale", "isthmus-gateway", "--replicas=0")
    next_answer("wait", "link/west", "--for=condition=GatewayAlive=False")
    assert re.search(r"^west +False +4 +-$", next_answer("gateways"), re.MULTILINE)
    assert mirrors(next_answer("get", "services", "east"), 3) == addresses
    assert next_answer("exec", "curl").startswith("curl: (6) Could not resolve host: nginx-set-0")
    next_answer("scale", "isthmus-gateway", "--replicas=1")
    next_answer("wait", "link/west", "--for=condition=GatewayAlive=True")
    was_answered(next_answer("exec", "curl", POD.format("nginx-set-0")), "nginx-set-0")

    next_answer("scale", "statefulset", "nginx-set", "--replicas=5")
    next_answer("wait", "service/nginx-set-4-west", "--for=create")
    grown = next_answer("services", "--mirrors")
    for number in range(5):
        assert re.search(rf"^west +default +nginx-set-{number}-west +ready +1/1 ", grown, re.M)
    was_answered(next_answer("exec", "curl", POD.format("nginx-set-4")), "nginx-set-4")
    seen = next_answer("stat", "--total")
    assert re.search(r"^out +west +default +nginx-set-4-west +100.00% +1 ", seen, re.MULTILINE)

    assert next_answer("label", f"{label}-") == "service/nginx-svc unlabeled"
    assert "-west" not in next_answer("get", "services", "east")
    assert "link.isthmus.dev/west deleted" in next_answer("unlink", "west")
    assert next_answer("deny", "east") == "grant.isthmus.dev/east deleted"
    for cluster in ("east", "west"):
        assert next_answer("uninstall", cluster) == "namespace/isthmus deleted"
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
    greeting, *lines = answer.splitlines()
    assert greeting == f"Welcome, this is {pod}"
    told = dict(line.split(": ", 1) for line in lines)
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
def test_a_command_needs_a_pod(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "exec", pod, "--", "curl", "http://web"]) == 2
    assert "name a pod by its cluster and its name" in capsys.readouterr().err
