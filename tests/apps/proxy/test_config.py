"""What a proxy is told on its command line, and what is said about mistakes in it."""

from pathlib import Path

import pytest

from isthmus.apps.proxy.config import BadOption, Config, place
from isthmus.cli.exits import MISUSED
from isthmus.cli.main import run
from isthmus.model.wire import Json


def options(path: Path, **changed: Json) -> dict[str, Json]:
    for name in ("token", "anchors.pem"):
        (path / name).touch()
    return {
        "role": "egress",
        "cluster_name": "east",
        "controller": ("controller", 8443),
        "ads": ("controller", 8444),
        "token_file": path / "token",
        "trust_file": path / "anchors.pem",
        "directory": path,
    } | changed


def test_a_proxy_knows_who_it_and_its_controller_have_to_be(tmp_path: Path) -> None:
    config = Config(**options(tmp_path, mesh_domain="example.org", namespace="mesh"))
    assert str(config.identity) == "spiffe://east.example.org/ns/mesh/sa/isthmus-egress"
    assert (
        str(config.controller_identity) == "spiffe://east.example.org/ns/mesh/sa/isthmus-controller"
    )


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({"role": "relay"}, "--role 'relay': must be gateway or egress"),
        ({"cluster_name": "East"}, "--cluster-name or --mesh-domain: 'East' is not the name"),
        ({"mesh_domain": "_"}, "--cluster-name or --mesh-domain: '_' is not a mesh domain"),
        ({"namespace": ""}, "--namespace '': must be a DNS label"),
        ({"token_file": Path("/nowhere")}, "--token-file /nowhere: no such file; does the pod"),
        ({"trust_file": Path("/")}, "--trust-file /: no such file; does the pod mount it?"),
        ({"directory": Path("/nowhere")}, "--directory /nowhere: not a directory that we can"),
        ({"concurrency": 0}, "--concurrency must be at least 1, --drain and --linger must not"),
        ({"linger": -1}, "--concurrency must be at least 1, --drain and --linger must not"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, changed: dict[str, Json], expected: str) -> None:
    with pytest.raises(BadOption) as raised:
        Config(**options(tmp_path, **changed))
    assert str(raised.value).startswith(expected)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("isthmus-controller.isthmus:8443", ("isthmus-controller.isthmus", 8443)),
        ("isthmus-controller.isthmus.svc.:8443", ("isthmus-controller.isthmus.svc.", 8443)),
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("[fd00::1]:8443", ("fd00::1", 8443)),
    ],
)
def test_places(text: str, expected: tuple[str, int]) -> None:
    assert place("controller", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:²",
        "ho st:1",
        "https://host:1",
        "a/b:1",
    ],
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(BadOption, match="must be HOST:PORT"):
        place("controller", text)


def test_the_command_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["proxy", "--role", "gateway"]) == MISUSED
    capsys.readouterr()
    given = ["--controller", "a:1", "--ads", "a:2", "--token-file", "/nowhere"]
    more = ["--trust-file", "/nowhere", "--directory", str(tmp_path), "--cluster-name", "east"]
    assert run(["proxy", "--role", "gateway", *given, *more]) == MISUSED
    assert capsys.readouterr().err == (
        "isthmus: --token-file /nowhere: no such file; does the pod mount it?\n"
    )
