"""Two Envoys, for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.xds import crossing


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[crossing.Crossing]:
    with crossing.crossing(tmp_path_factory.mktemp("crossing")) as found:
        yield found
