"""Drawings: what is written has to be SVG, and every figure has to lie where its axes say."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import plots
from bench.plots import HEIGHT, WIDTH, Line, Plot, Scale, drawable, svg, ticks

SPACE = "{http://www.w3.org/2000/svg}"
FIGURES = st.lists(st.floats(min_value=1e-4, max_value=1e6), min_size=1, max_size=8)


def plot(*lines: Line, log: bool = True) -> Plot:
    return Plot(title="a < b", x_label="n", y_label="s", lines=lines, log_x=log, log_y=log)


@given(figures=FIGURES, is_log=st.booleans())
def test_ticks_enclose_all_figures_and_can_be_read(figures: list[float], is_log: bool) -> None:
    found = ticks(figures, is_log=is_log)
    assert found[0] <= min(figures) * 1.001
    assert found[-1] >= max(figures) * 0.999
    assert found == sorted(found)
    assert len(found) <= 14


@pytest.mark.parametrize(
    "figures, is_log, expected",
    [
        pytest.param([100, 10_000], True, [100, 200, 500, 1000, 2000, 5000, 10_000], id="log"),
        pytest.param([1, 10_000], True, [1, 10, 100, 1000, 10_000], id="many decades"),
        pytest.param([3.0, 58.0], False, [0, 10, 20, 30, 40, 50, 60], id="linear, from zero"),
        pytest.param([5.0], True, [5], id="one figure"),
    ],
)
def test_ticks_are_round(figures: list[float], is_log: bool, expected: list[float]) -> None:
    assert ticks(figures, is_log=is_log) == pytest.approx(expected)


def test_a_decade_is_as_long_as_the_next_one() -> None:
    place = Scale([1, 10, 100], 0, 200, is_log=True)
    assert [place(1), place(10), place(100)] == pytest.approx([0, 100, 200])


@given(figures=FIGURES, is_log=st.booleans())
def test_a_drawing_is_xml_and_nothing_lies_outside(figures: list[float], is_log: bool) -> None:
    points = tuple((float(n + 1), figure) for n, figure in enumerate(figures))
    drawn = ElementTree.fromstring(svg(plot(Line("one & two", points), log=is_log)))
    for circle in drawn.iter(f"{SPACE}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= WIDTH
        assert 0 <= float(circle.attrib["cy"]) <= HEIGHT
    texts = [text.text for text in drawn.iter(f"{SPACE}text")]
    assert {"a < b", "n", "s", "one & two"} <= set(texts)


def test_names_at_the_end_of_lines_can_be_told_apart() -> None:
    lines = [Line(f"line {n}", ((1.0, 5.0), (10.0, 5.0 + n / 1000))) for n in range(11)]
    drawn = ElementTree.fromstring(svg(plot(*lines)))
    heights = sorted(
        float(text.attrib["y"])
        for text in drawn.iter(f"{SPACE}text")
        if (text.text or "").startswith("line ")
    )
    apart = [below - above for above, below in pairwise(heights)]
    assert min(apart) >= plots.LABEL_APART - 0.11
    assert heights[0] > 0
    assert heights[-1] <= HEIGHT


def test_what_has_no_place_on_a_logarithmic_axis_is_left_out() -> None:
    kept = drawable(plot(Line("a", ((0.0, 1.0), (1.0, 1.0))), Line("b", ((1.0, 0.0),))))
    assert kept is not None
    assert kept.lines == (Line("a", ((1.0, 1.0),)),)
    assert drawable(plot(Line("b", ((1.0, 0.0),)))) is None
