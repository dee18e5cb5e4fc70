"""Whatever a document asks Prometheus for is in the list of what there is."""

import re
from pathlib import Path

import pytest

from tests.docs.reading import DOCUMENTS, ROOT, blocks, name

NAMES = re.compile(r"\b(?:envoy|isthmus|gateway)_\w+")
PARTS = re.compile(r"_(bucket|sum|count)$")  # of a histogram
KNOWN = set(NAMES.findall((ROOT / "docs/metrics.md").read_text(encoding="utf-8")))


def unknown(query: str) -> list[str]:
    return [one for one in NAMES.findall(query) if not {one, PARTS.sub("", one)} & KNOWN]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_queries_use_names_that_exist(path: Path) -> None:
    queries = [line for _, line in blocks(path.read_text(encoding="utf-8"), "promql")]
    assert [one for query in queries for one in unknown(query)] == []


def test_there_are_alerts_to_be_checked() -> None:
    operations = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert len(list(blocks(operations, "promql"))) > 10


@pytest.mark.parametrize(
    "query, expected",
    [
        ("max(gateway_alive) == 0", []),
        ("rate(envoy_http_downstream_rq_time_bucket[5m])", []),
        ('isthmus_mirrors{target_cluster_name="west"}', []),
        ("sum(isthmus_mirror)", ["isthmus_mirror"]),
        ("rate(envoy_nonsense_total[5m])", ["envoy_nonsense_total"]),
    ],
)
def test_a_name_that_does_not_exist_is_noticed(query: str, expected: list[str]) -> None:
    assert unknown(query) == expected
