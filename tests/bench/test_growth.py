"""The exponent of growth: wrong arithmetic here would hide what gets too slow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import growth
from bench.growth import Growth, Shape, fit

SIZES = (100.0, 1000.0, 5000.0, 10_000.0)


def grows(exponent: float, should_be: Shape = "linear", what: str = "memory") -> Growth:
    points = tuple((size, 3 * size**exponent) for size in SIZES)
    return Growth(what=what, by="mirrors", unit="MB", points=points, should_be=should_be)


@given(
    factor=st.floats(min_value=1e-3, max_value=1e3),
    exponent=st.floats(min_value=-2, max_value=3),
)
def test_the_law_by_which_figures_were_made_is_found_again(factor: float, exponent: float) -> None:
    found = fit([(size, factor * size**exponent) for size in SIZES])
    assert found == pytest.approx((factor, exponent), rel=1e-6, abs=1e-6)


@given(
    noise=st.lists(
        st.floats(min_value=0.9, max_value=1.1), min_size=len(SIZES), max_size=len(SIZES)
    )
)
def test_noise_of_a_tenth_bends_a_line_by_less_than_is_allowed(noise: list[float]) -> None:
    found = fit([(size, size * one) for size, one in zip(SIZES, noise, strict=True)])
    assert found is not None
    assert found[1] == pytest.approx(1.0, abs=growth.WORST - 1.0)


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([], id="nothing"),
        pytest.param([(10.0, 1.0)], id="one size"),
        pytest.param([(10.0, 1.0), (10.0, 2.0)], id="one size twice"),
        pytest.param([(10.0, 0.0), (100.0, 1.0)], id="a figure without a logarithm"),
        pytest.param([(0.0, 1.0), (100.0, 1.0)], id="a size without a logarithm"),
    ],
)
def test_where_there_is_nothing_to_fit_nothing_is_said(points: list[tuple[float, float]]) -> None:
    assert fit(points) is None


@pytest.mark.parametrize(
    "growths, met",
    [
        pytest.param([grows(1.0), grows(1.09)], True, id="nearly linear"),
        pytest.param([grows(1.0), grows(1.2)], False, id="one is worse"),
        pytest.param([grows(1.0), grows(2.0, "the server's")], True, id="what we do not cause"),
        pytest.param([grows(0.5)], True, id="better than linear"),
    ],
)
def test_the_steepest_of_what_should_be_linear_decides(growths: list[Growth], met: bool) -> None:
    verdict = growth.verdict(growths)
    assert verdict is not None
    assert verdict.met is met


def test_the_steepest_is_named() -> None:
    verdict = growth.verdict([grows(1.0, what="memory"), grows(1.3, what="CPU")])
    assert verdict is not None
    assert verdict.evidence == "of 2, the steepest is CPU by mirrors with n^1.30"


def test_without_sizes_nothing_is_judged() -> None:
    assert growth.verdict([]) is None


def test_the_table_says_what_was_and_what_should_be() -> None:
    (row,) = growth.table([grows(1.0)]).rows
    assert row[0] == "memory"
    assert row[1].startswith("100: 300; 1,000: 3,000")
    assert row[-2:] == ("n^1.00", "linear")
