"""Which Services a cluster offers to others."""

import pytest

from isthmus.core.offer import is_offered
from isthmus.model.names import EXPORTED
from tests.support.builders import service


@pytest.mark.parametrize(
    "labels, expected",
    [
        pytest.param({EXPORTED: "true"}, True, id="marked"),
        pytest.param({EXPORTED: "remote-discovery"}, True, id="marked for somebody's selector"),
        pytest.param({EXPORTED: "false"}, False, id="marked as not exported"),
        pytest.param({}, False, id="not marked"),
    ],
)
def test_what_is_marked_is_offered_unless_that_says_no(
    labels: dict[str, str], expected: bool
) -> None:
    assert is_offered(service(labels=labels)) == expected
