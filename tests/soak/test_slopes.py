"""What is a leak, and what is noise."""

from random import Random

import pytest

from tests.soak.measuring import Verdict, judged
from tests.soak.slopes import TooFew, slope


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


@pytest.mark.parametrize(
    "per_thousand, noise, verdict",
    [
        pytest.param(0.0, 0.5, Verdict.NO_LEAK, id="flat"),
        pytest.param(20.0, 2.0, Verdict.LEAK, id="grows"),
        pytest.param(0.0, 200.0, Verdict.UNDECIDED, id="too restless to tell"),
        pytest.param(100.0, 200.0, Verdict.UNDECIDED, id="seems to grow, and may not"),
        pytest.param(2000.0, 200.0, Verdict.LEAK, id="grows beyond any restlessness"),
    ],
)
def test_what_a_leak_would_be_lost_in_is_no_proof_of_none(
    per_thousand: float, noise: float, verdict: Verdict
) -> None:
    found = {"memory": slope(measured(per_thousand, noise))}
    assert judged(found)[0] is verdict


def test_a_leak_is_one_whatever_else_is_undecided() -> None:
    found = {"memory": slope(measured(20.0, 2.0)), "files": slope(measured(0.0, 200.0))}
    verdict, (leak, undecided) = judged(found)
    assert verdict is Verdict.LEAK
    assert leak.startswith("LEAK: memory")
    assert undecided.startswith("undecided: files")


def test_what_grows_only_at_first_is_no_leak() -> None:
    warming = [(float(at), min(at, 40) * 10.0) for at in range(200)]
    assert not slope(warming).is_leak(allowed=1.0)


def test_too_little_is_no_verdict() -> None:
    with pytest.raises(TooFew, match="too few"):
        slope(measured(0, 0, count=5))
