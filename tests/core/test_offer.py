"""Which Services a cluster offers to others."""

import pytest

from isthmus.core.offer import is_awaited, is_offered
from isthmus.model.names import EXPORTED
from isthmus.model.objects import ServiceSpec
from tests.support.builders import service, slice_of


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


@pytest.mark.parametrize(
    "cluster_ip, selector, slices, expected",
    [
        pytest.param("None", {"app": "db"}, 0, True, id="headless, and nothing known of its pods"),
        pytest.param("None", {"app": "db"}, 1, False, id="headless, with a slice"),
        pytest.param("None", {}, 0, False, id="headless, and nobody makes slices for it"),
        pytest.param("10.0.0.7", {"app": "db"}, 0, False, id="of one shape whatever its pods are"),
    ],
)
def test_a_headless_service_is_awaited_until_kubernetes_has_looked_for_its_pods(
    cluster_ip: str, selector: dict[str, str], slices: int, expected: bool
) -> None:
    found = service(spec=ServiceSpec(cluster_ip=cluster_ip, selector=selector))
    assert is_awaited(found, [slice_of("web")] * slices) is expected
