"""Blocks of addresses: nobody's is anybody else's."""

from contextlib import ExitStack
from ipaddress import IPv4Network
from itertools import pairwise
from pathlib import Path

import pytest

from isthmus.embedded.mesh import blocks
from isthmus.embedded.mesh.blocks import COUNT, Block, NoBlock, claimed


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let demos that run at the same time keep theirs."""
    monkeypatch.setattr(blocks, "_NAME", tmp_path.name)


def test_whoever_comes_second_gets_other_addresses_and_they_come_back() -> None:
    with claimed() as first:
        with claimed() as second:
            assert first != second
        with claimed() as third:
            assert third == second


def test_when_all_are_taken_it_says_what_to_do() -> None:
    with ExitStack() as held:
        taken = {held.enter_context(claimed()).number for _ in range(COUNT)}
        assert taken == set(range(COUNT))
        with pytest.raises(NoBlock, match="end one of them"):
            held.enter_context(claimed())


def test_no_two_ranges_overlap() -> None:
    clusters = [Block(number).cluster("west", place) for number in range(COUNT) for place in (0, 1)]
    ranges = [one.service_range for one in clusters] + [one.pod_range for one in clusters]
    networks = sorted(IPv4Network(one) for one in ranges)
    for one, other in pairwise(networks):
        assert not one.overlaps(other)
    assert all(one.is_loopback for one in networks)
