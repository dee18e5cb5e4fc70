"""What is a leak, and what is noise."""

from random import Random

import pytest

from tests.soak.slopes import slope


def measured(per_thousand: float, noise: float, count: int = 200) -> list[tuple[float, float]]:
    random = Random(1)
    return [
        (5.0 * at, 100 + per_thousand * at * 5 / 1000 + random.uniform(-noise, noise))
        for at in range(count)
    ]


@pytest.mark.parametrize(
    "per_thousand, noise, is_leak",
    [
        pytest.param(0.0, 0.0, False, id="flat"),
        pytest.param(0.0, 20.0, False, id="restless, and flat"),
        pytest.param(1.0, 0.0, False, id="as little as is allowed"),
        pytest.param(20.0, 2.0, True, id="grows"),
        pytest.param(20.0, 10.0, True, id="grows restlessly"),
        pytest.param(-20.0, 1.0, False, id="shrinks"),
    ],
)
def test_growth_is_told_from_noise(per_thousand: float, noise: float, is_leak: bool) -> None:
    assert slope(measured(per_thousand, noise)).is_leak(allowed=5.0) is is_leak


def test_what_grows_only_at_first_is_no_leak() -> None:
    warming = [(float(at), min(at, 40) * 10.0) for at in range(200)]
    assert not slope(warming).is_leak(allowed=1.0)


def test_too_little_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="too few"):
        slope(measured(0, 0, count=5))
