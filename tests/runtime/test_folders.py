"""A folder goes with the process that made it, or with the next one."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from isthmus.runtime.folders import private_folder

PREFIX = "isthmus-test-"
HOLDER = """
import sys, tempfile
from isthmus.runtime.folders import private_folder
tempfile.tempdir = sys.argv[1]
with private_folder(sys.argv[2]) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_private_and_goes_at_the_end(place: Path) -> None:
    with private_folder(PREFIX) as folder:
        (folder / "secret").write_text("x")
        assert folder.stat().st_mode & 0o077 == 0
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_a_living_one_is_spared(place: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(place), PREFIX]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        theirs = Path(holder.stdout.readline().strip())
        with private_folder(PREFIX) as first:
            assert theirs.is_dir()
            holder.send_signal(signal.SIGKILL)
            holder.wait(timeout=10)
            assert theirs.is_dir()
            with private_folder(PREFIX) as second:
                assert not theirs.exists()
                assert first.is_dir()
                assert second.is_dir()


def test_nothing_but_folders_of_this_name_is_touched(place: Path) -> None:
    precious = place / "precious"
    precious.mkdir()
    (place / f"{PREFIX}link").symlink_to(precious)
    (place / f"{PREFIX}file").write_text("x")
    (precious / "x").write_text("x")
    with private_folder(PREFIX):
        pass
    assert sorted(one.name for one in place.iterdir()) == [
        f"{PREFIX}file",
        f"{PREFIX}link",
        "precious",
    ]
    assert (precious / "x").exists()


def test_a_folder_of_another_user_is_left_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = place / f"{PREFIX}theirs"
    theirs.mkdir()
    us = os.getuid()
    answers = iter([us + 1, us])  # the first question is about the folder that is there
    monkeypatch.setattr(os, "getuid", lambda: next(answers))
    with private_folder(PREFIX):
        pass
    assert theirs.is_dir()


def test_a_folder_that_is_taken_for_a_stale_one_at_birth_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, made = tempfile.mkdtemp, list[str]()

    def unlucky(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", unlucky)
    with private_folder(PREFIX) as folder:
        assert folder == Path(made[1])
        assert folder.is_dir()
