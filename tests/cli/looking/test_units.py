"""Numbers as people read them."""

import pytest

from isthmus.cli.looking import units


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "-"),
        (0.0, "0ms"),
        (0.444, "0.44ms"),
        (1.0, "1ms"),
        (12.34, "12.3ms"),
        (123.4, "123ms"),
        (999.9, "1000ms"),
        (1000.0, "1s"),
        (1500.0, "1.50s"),
        (61_000.0, "61s"),
    ],
)
def test_times(value: float | None, shown: str) -> None:
    assert units.milliseconds(value) == shown


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "-"),
        (0.0, "0B"),
        (317.0, "317B"),
        (999.4, "999B"),
        (1024.0, "1KiB"),
        (1234567.0, "1.18MiB"),
        (5e12, "4.55TiB"),
        (1e20, "88818PiB"),
    ],
)
def test_sizes(value: float | None, shown: str) -> None:
    assert units.size(value) == shown


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "-"),
        (1.0, "100.00%"),
        (0.9999999, "99.99%"),
        (0.9995, "99.95%"),
        (0.5, "50.00%"),
        (0.0, "0.00%"),
    ],
)
def test_shares_hide_no_failure(value: float | None, shown: str) -> None:
    assert units.share(value) == shown


@pytest.mark.parametrize(
    "value, shown", [(None, "-"), (0.0, "0"), (0.25, "0.25"), (12.34, "12.3"), (1e6, "1000000")]
)
def test_amounts(value: float | None, shown: str) -> None:
    assert units.amount(value) == shown
