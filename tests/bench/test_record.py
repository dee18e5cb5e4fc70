"""One file for all that was recorded: a part that is measured again must not cost another."""

from pathlib import Path

import pytest

from bench import document, record
from bench.__main__ import DOCUMENT, RECORDED, choose
from bench.parts import PARTS, Part
from bench.results import Machine

HERE = Machine(cores=2, memory_gb=24, python="3.11")
THERE = Machine(cores=64, memory_gb=500, python="3.12")


def test_a_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    record.write(path, "one", HERE)
    record.write(path, "two", HERE)
    record.write(path, "one", THERE)
    assert record.read(path, "one", Machine) == THERE
    assert record.read(path, "two", Machine) == HERE
    assert [one.name for one in path.parent.iterdir()] == ["results.json"]


def test_what_was_not_recorded_is_none(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert record.read(path, "one", Machine) is None
    record.write(path, "one", HERE)
    assert record.read(path, "two", Machine) is None


def test_names_of_parts_are_unique() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize(
    "only, expected",
    [
        pytest.param([], [part.name for part in PARTS if not part.is_extra], id="all but extras"),
        pytest.param(["first-call"], ["first-call"], id="an extra by its name"),
        pytest.param(["large", "calls"], ["calls", "large"], id="in the order they are taken in"),
        pytest.param(["dataplane"], ["told", "calls", "large", "streams"], id="a group"),
        pytest.param(["kopf"], ["kube-edge"], id="a client of the edge"),
    ],
)
def test_names_choose_parts(only: list[str], expected: list[str]) -> None:
    assert [part.name for part in choose(only)] == expected


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_the_repository_has_recorded_can_be_shown(part: Part[Machine]) -> None:
    section = record.read(RECORDED / "results.json", part.name, part.shape)
    if section is not None:
        assert part.report(section).tables


@pytest.mark.parametrize("name", [*(part.name for part in PARTS), "growth", "goals"])
def test_the_document_has_a_place_for_every_part(name: str) -> None:
    _, opening, rest = DOCUMENT.read_text().partition(document.OPENING.format(name=name))
    assert opening
    assert document.CLOSING in rest
