"""Golden files: what is generated is compared with what somebody has read and kept.

And two Envoys, for all tests of a module.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.xds import crossing

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="keep what is generated as what is expected"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare with a golden file, or write it."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.write_text(text)
        assert text == (path.read_text() if path.exists() else "")

    return compare


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[crossing.Crossing]:
    with crossing.crossing(tmp_path_factory.mktemp("crossing")) as found:
        yield found
