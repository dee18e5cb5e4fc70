"""What is known of one target."""

import pytest
from msgspec.structs import replace

from isthmus.apps.controller.mirroring.target import Target
from isthmus.model.links import LinkStatus
from tests.support.builders import link


@pytest.mark.parametrize(
    "recorded, pinned, answering, expected",
    [
        pytest.param("", "", "", False, id="nothing known yet"),
        pytest.param("", "west", "west", False, id="not recorded yet"),
        pytest.param("west", "", "", False, id="another replica was first"),
        pytest.param("west", "", "old", False, id="rebuilt, and another replica was first"),
        pytest.param("west", "west", "west", False, id="as it should be"),
        pytest.param("edited", "west", "west", True, id="edited by hand"),
        pytest.param("edited", "west", "", False, id="edited before the first contact"),
        pytest.param("new", "west", "new", False, id="edited to what answers there now"),
    ],
)
def test_a_record_is_wrong_only_against_a_cluster_that_is_pinned_and_answers(
    recorded: str, pinned: str, answering: str, expected: bool
) -> None:
    target = Target(link())
    target.pinned, target.answering = pinned, answering
    target.link = replace(link(), status=LinkStatus(cluster_uid=recorded))
    assert target.is_misrecorded is expected
