"""Where keys are written: for their owner alone, whole, or not at all."""

import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isthmus.cli import main
from tests.apps.proxy.test_files import full_disk


@contextmanager
def masked(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_what_holds_a_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    folder = tmp_path / "anchor"
    issued = ["trust", "issue", "--cluster", "west", "--anchor", str(folder)]
    with masked(mask):
        assert main.run(["trust", "create", "--out", str(folder)]) == 0
        assert main.run([*issued, "--out", str(tmp_path / "west")]) == 0
        assert main.run([*issued, "--secret", str(tmp_path / "west.yaml")]) == 0
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and holds_a_key(path)]
    assert {path.name for path in holding} == {"anchor.key", "west.key", "west.yaml"}
    assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}


def holds_a_key(path: Path) -> bool:
    written = path.read_bytes()
    return b"PRIVATE KEY" in written or b64encode(b"-----BEGIN PRIVATE")[:20] in written


def test_on_a_full_disk_an_anchor_is_not_half_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "anchor"
    with full_disk():
        assert main.run(["trust", "create", "--out", str(folder)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("isthmus: ")
    assert said.err.count("\n") == 1
    assert not folder.exists() or list(folder.iterdir()) == []
    assert main.run(["trust", "create", "--out", str(folder)]) == 0
