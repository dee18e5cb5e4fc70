"""How probes decide about a gateway."""

import pytest

from isthmus.core.health import Health, failed, succeeded

PERIOD = 3.0


def probed(history: str, start: Health | None = None, threshold: int = 3) -> Health:
    """Probe every three seconds: ``+`` is answered, ``-`` is not."""
    health = start or Health()
    for number, sign in enumerate(history):
        now = number * PERIOD
        health = succeeded(health, now) if sign == "+" else failed(health, threshold, now)
    return health


@pytest.mark.parametrize(
    "before, history, alive, known",
    [
        pytest.param(True, "", True, None, id="unknown at the start keeps what was"),
        pytest.param(False, "", False, None, id="be it death"),
        pytest.param(True, "+", True, True, id="one answer proves life"),
        pytest.param(True, "--", True, None, id="below the threshold nothing is known"),
        pytest.param(True, "---", False, False, id="down before we start counts as down"),
        pytest.param(True, "+---", False, False, id="threshold failures in a row"),
        pytest.param(True, "+--+", True, True, id="two failures then a success change nothing"),
        pytest.param(True, "+--+--+--+", True, True, id="however often"),
        pytest.param(True, "+---+", False, False, id="one success is not enough"),
        pytest.param(True, "+---++", True, True, id="two successes bring it back"),
        pytest.param(True, "+---+-++", True, True, id="two in a row, that is"),
        pytest.param(False, "+", False, None, id="recorded death needs two as well"),
        pytest.param(False, "++", True, True, id="and then it is over"),
        pytest.param(False, "--", False, None, id="recorded death is not proved by two failures"),
        pytest.param(False, "---", False, False, id="but by as many as prove any"),
    ],
)
def test_health(before: bool, history: str, alive: bool, known: bool | None) -> None:
    health = probed(history, Health(alive=before))
    assert (health.alive, health.known) == (alive, known)


def test_a_flapping_gateway_stays_down_for_longer_and_longer() -> None:
    once = "+---++"
    assert probed(once).alive
    assert not probed(once + "---++").alive
    assert probed(once + "---" + "+" * 10).alive
    twice = once + "---" + "+" * 10
    assert not probed(twice + "---" + "+" * 10).alive
    assert probed(twice + "---" + "+" * 20).alive


def test_a_long_time_of_health_makes_earlier_trouble_forgotten() -> None:
    calm = "+---++" + "+" * 100
    assert probed(calm + "---++").alive
