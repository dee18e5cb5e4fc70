"""What the image promises: pinned, without root, and with nothing but the program in it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from tests.install.made import container, made, pod

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Dockerfile"


class Line(NamedTuple):
    """One instruction, continued lines joined."""

    word: str
    rest: str


def instructions() -> list[Line]:
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    lines = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [Line(word, rest) for word, rest in lines]


def stages() -> list[list[Line]]:
    found: list[list[Line]] = []
    for line in instructions():
        if line.word == "FROM":
            found.append([])
        if found:
            found[-1].append(line)
    return found


def said(stage: list[Line], word: str) -> list[str]:
    return [line.rest for line in stage if line.word == word]


def test_it_is_built_in_one_stage_and_runs_in_another() -> None:
    build, final = stages()
    assert said(build, "FROM") == ["${PYTHON} AS build"]
    assert said(final, "FROM") == ["${PYTHON}"]
    copied = [rest for rest in said(final, "COPY") if not rest.startswith("--from=build ")]
    assert copied == []


def test_what_it_starts_from_has_a_version() -> None:
    (base,) = (line.rest for line in instructions() if line.word == "ARG")
    assert re.fullmatch(r"PYTHON=python:3\.\d+-slim-[a-z]+", base)
    assert "latest" not in FILE.read_text()


def test_it_runs_as_nobody_by_a_number_that_kubernetes_can_judge() -> None:
    *_, final = stages()
    (user,) = said(final, "USER")
    number, group = map(int, user.split(":"))
    assert number == group > 0
    assert said(final, "ENTRYPOINT") == ['["/opt/isthmus/bin/isthmus"]']
    assert pod(made(), "isthmus-egress")["securityContext"]["runAsUser"] == number


def test_nothing_is_installed_that_has_no_hash() -> None:
    commands = [
        part.strip()
        for stage in stages()
        for line in said(stage, "RUN")
        for part in line.split("&&")
        if re.search(r"\bpip\b.* install\b", part)
    ]
    pinned = [one for one in commands if "--no-index" not in one]
    assert len(pinned) == 2
    for one in pinned:
        assert "--require-hashes" in one
        assert "--only-binary=:all:" in one
    assert pinned[0].endswith("-r requirements.lock")
    assert [one for one in commands if one not in pinned] == [
        "pip --python /opt/isthmus/bin/python install --no-deps --no-index dist/*.whl"
    ]


def test_what_is_copied_exists_and_is_let_through() -> None:
    build, _ = stages()
    allowed = set(
        re.findall(
            r"^!(.+)$", (FILE.parent / f"{FILE.name}.dockerignore").read_text(), flags=re.MULTILINE
        )
    )
    copied = {name for rest in said(build, "COPY") for name in rest.split()[:-1]}
    assert copied == allowed
    for name in copied:
        assert (ROOT / name).exists(), name


def test_every_port_of_a_pod_is_named() -> None:
    *_, final = stages()
    (ports,) = said(final, "EXPOSE")
    names = ("isthmus-controller", "isthmus-gateway", "isthmus-egress")
    used = {port["containerPort"] for name in names for port in container(made(), name)["ports"]}
    assert set(map(int, ports.split())) == used


def test_the_wheel_has_all_that_an_installation_takes(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    wanted = {f"isthmus/manifests/crds/{file.name}" for file in (ROOT / "deploy/crds").iterdir()}
    assert wanted | {"isthmus/install/everything.py"} <= names
