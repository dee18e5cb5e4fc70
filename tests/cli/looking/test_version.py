"""``isthmus version --server``, as it is typed and as it answers."""

from pathlib import Path

import msgspec
import pytest
import yaml

from isthmus import __version__
from isthmus.cli import main
from isthmus.cli.checking.evidence.objects import tag
from tests.cli.joining.desk import rule
from tests.cli.looking.stage import Printed, Stage, stage, uninstalled

pytestmark = pytest.mark.sockets

SAID = '{"replica": "isthmus-controller-0", "version": "0.0.9", "unheard": "of"}'
SHOWN = f"""\
isthmus {__version__}
kinds: isthmus.dev/v1alpha1

COMPONENT    POD                    VERSION   NOTE
controller   isthmus-controller-0   0.0.9     ‼ not {__version__}, as this program
egress       isthmus-egress-0       -         it does not say; its image has no tag
gateway      isthmus-gateway-0      {__version__}     -
"""


class _Component(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    pod: str
    image: str
    version: str | None
    matches: bool | None


class _Kinds(msgspec.Struct, forbid_unknown_fields=True):
    served: list[str]
    known: bool


class _Server(msgspec.Struct, forbid_unknown_fields=True):
    components: list[_Component]
    kinds: _Kinds


class _Client(msgspec.Struct, forbid_unknown_fields=True):
    version: str


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of ``-o json``."""

    client: _Client
    server: _Server


async def all_of_them(here: Stage) -> None:
    await here.start("controller", image=f"isthmus.dev/isthmus:{__version__}", proxies=SAID)
    await here.start("gateway", image=f"isthmus.dev:5000/isthmus:{__version__}@sha256:0")
    await here.start("egress", image="isthmus.dev:5000/isthmus@sha256:0")


async def test_what_differs_is_marked(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await all_of_them(here)
        assert await here.run("version", "--server") == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (SHOWN, "")


async def test_the_data_has_its_schema(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await all_of_them(here)
        assert await here.run("version", "--server", "-o", "json") == 0
        found = msgspec.json.decode(capsys.readouterr().out, type=Document)
        assert await here.run("version", "--server", "-o", "yaml") == 0
        assert msgspec.convert(yaml.safe_load(capsys.readouterr().out), Document) == found
    assert [one.matches for one in found.server.components] == [False, None, True]
    assert found.server.kinds == _Kinds(["v1alpha1"], known=True)


async def test_a_controller_that_says_nothing_is_what_its_image_is(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await here.start("controller", image="isthmus.dev/isthmus:v0.0.8")
        await here.desk.become(here.east, rule("", "pods", "list"))
        assert await here.run("version", "--server") == 0
    assert "isthmus-controller-0   v0.0.8    ‼ not" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["version"], ["version", "--client"]])
def test_without_a_cluster_nobody_is_asked(words: list[str], capsys: Printed) -> None:
    assert main.run(["--kubeconfig", "/nowhere", *words]) == 0
    assert capsys.readouterr().out == f"isthmus {__version__}\n"


async def test_mistakes_are_named(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        for words, said in (
            ("--server", "no controller or gateway or egress runs in namespace isthmus"),
            ("--server --context none", "there is no context none"),
        ):
            assert await here.run("version", *words.split()) == 1
            assert said in capsys.readouterr().err
        await here.desk.become(here.east)
        assert await here.run("version", "--server") == 1
        assert 'cannot list resource "pods"' in capsys.readouterr().err
        here.desk.write(here.desk.entries)
        await uninstalled(here.east, "grants")
        await uninstalled(here.east, "links")
        assert await here.run("version", "--server") == 1
        assert "knows no isthmus.dev: Isthmus is not installed" in capsys.readouterr().err
        desk = here.desk
    assert await desk.run("version", "--server") == 75
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "image, expected",
    [
        ("isthmus", ""),
        ("isthmus:1.2", "1.2"),
        ("example.org/a/isthmus:1.2", "1.2"),
        ("example.org:5000/isthmus", ""),
        ("example.org:5000/isthmus:1.2@sha256:00", "1.2"),
        ("example.org:5000/isthmus@sha256:00", ""),
    ],
)
def test_the_tag_of_an_image(image: str, expected: str) -> None:
    assert tag(image) == expected
