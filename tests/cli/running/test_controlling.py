"""A controller that runs for long does not keep what has ended."""

import subprocess
import sys

import pytest

LINKS = """
import gc
from collections import deque

from isthmus.__main__ import SELDOM
from isthmus.cli.running.controlling import keep_tidy

class Part:
    there = 0

    def __init__(self) -> None:
        self.itself = self  # so that only a search finds it
        Part.there += 1

    def __del__(self) -> None:
        Part.there -= 1

gc.set_threshold(*SELDOM)
keep_tidy()
links = deque(maxlen=10)
most = 0
for _ in range(2000):
    links.append([Part() for _ in range(460)])
    most = max(most, Part.there)
print(most // 460)
"""


def test_links_that_have_ended_are_not_kept_for_long() -> None:
    """A restarted link leaves some 460 objects that hold each other: ten live at any time, and
    two thousand come and go."""
    done = subprocess.run([sys.executable, "-c", LINKS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 120


@pytest.mark.parametrize(
    "files, workers, expected",
    [
        pytest.param(64, 4, 2, id="few"),
        pytest.param(1024, 16, 120, id="usual"),
        pytest.param(40, 16, 1, id="fewer than we need ourselves"),
    ],
)
def test_links_are_read_as_far_as_there_are_files_for_them(
    files: int, workers: int, expected: int
) -> None:
    ask = f"from isthmus.cli.running.controlling import claim_files; print(claim_files({workers}))"
    command = f'ulimit -Sn 30; ulimit -Hn {files}; exec "$0" -c "{ask}"'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == expected
