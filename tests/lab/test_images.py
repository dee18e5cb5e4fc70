"""Images: layers are made once for the same content, and archives say what containers run."""

import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.images import archive
from lab.images.layers import Files, made
from lab.images.python import Wheel
from lab.images.recipes import Image

MADE: list[str] = []


@dataclass(frozen=True, slots=True)
class Note:
    """A layer with one file, which remembers that it was made."""

    text: str

    def describe(self) -> str:
        return self.text

    def content(self) -> object:
        return self.text

    def make(self, below: Sequence[Path], root: Path) -> None:
        MADE.append(f"{self.text} on {len(below)}")
        (root / self.text).write_text(self.text)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    MADE.clear()
    return tmp_path


def test_a_layer_is_made_once_for_the_same_content_on_the_same_layers() -> None:
    first = made((Note("a"), Note("b")))
    assert made((Note("a"), Note("b"))) == first
    assert MADE == ["a on 0", "b on 1"]
    made((Note("b"),))
    assert MADE[2:] == ["b on 0"], "on nothing, it is another layer"


def test_a_layer_that_fails_leaves_nothing_that_could_be_taken_for_it(cache: Path) -> None:
    missing = Files((("/x", cache / "missing"),))
    with pytest.raises(FileNotFoundError):
        made((missing,))
    assert list((cache / "isthmus" / "layers").iterdir()) == []


def test_a_wheel_is_another_when_any_of_its_sources_is(cache: Path) -> None:
    (cache / "src").mkdir()
    source = cache / "src" / "one.py"
    source.write_text("1")
    wheel = Wheel(cache, ("src",))
    before = wheel.content()
    (cache / "src" / "__pycache__").mkdir()
    (cache / "src" / "__pycache__" / "one.pyc").write_text("compiled")
    assert wheel.content() == before
    source.write_text("2")
    assert wheel.content() != before


def test_an_archive_holds_the_layers_in_order_and_what_is_run() -> None:
    image = Image(
        name="docker.io/library/x:y",
        layers=(Note("a"), Note("b")),
        entrypoint=("/x",),
        user="65532:65532",
    )
    stream = io.BytesIO()
    archive.write(image, made(image.layers), stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as opened:
        files = {one.name: opened.extractfile(one) for one in opened.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    (manifest,) = json.loads(contents["manifest.json"])
    assert manifest["RepoTags"] == ["docker.io/library/x:y"]
    names = []
    for layer in manifest["Layers"]:
        with tarfile.open(fileobj=io.BytesIO(contents[layer])) as opened:
            names.append([Path(name).name for name in opened.getnames() if Path(name).name])
    assert names == [["a"], ["b"]]
    config = json.loads(contents[manifest["Config"]])
    assert config["config"]["Entrypoint"] == ["/x"]
    assert config["config"]["User"] == "65532:65532"
    assert len(config["rootfs"]["diff_ids"]) == 2
