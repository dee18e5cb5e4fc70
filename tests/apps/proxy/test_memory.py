"""Envoy turns callers away before the kernel would end its pod with all of them."""

from pathlib import Path

import pytest

from isthmus.apps.proxy.memory import heap

MIB = 1 << 20


@pytest.mark.parametrize(
    "file, said, least, most",
    [
        pytest.param("memory.max", f"{2048 * MIB}\n", 1700, 1800, id="version 2"),
        pytest.param("memory.max", "max\n", 800, 900, id="version 2, no bound"),
        pytest.param("memory/memory.limit_in_bytes", f"{512 * MIB}\n", 400, 450, id="version 1"),
        pytest.param(
            "memory/memory.limit_in_bytes", "9223372036854771712\n", 800, 900, id="1, no bound"
        ),
        pytest.param("memory.max", "", 800, 900, id="nothing is said"),
        pytest.param("something", "else", 800, 900, id="no control groups"),
    ],
)
def test_envoy_gets_most_of_what_its_pod_may_use(
    tmp_path: Path, file: str, said: str, least: int, most: int
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(said)
    assert least * MIB < heap(tmp_path) < most * MIB
