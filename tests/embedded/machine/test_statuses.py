"""What a pod says about itself."""

from datetime import UTC, datetime, timedelta

import pytest

from isthmus.embedded.machine.objects import Container
from isthmus.embedded.machine.statuses import Ending, State, conditions, status
from isthmus.model.objects import Condition

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = THEN + timedelta(minutes=1)
MAIN = Container(name="main", image="web")
UP = State().running(THEN, is_ready=True)


def said(found: tuple[Condition, ...]) -> dict[str, tuple[str, str | None]]:
    return {one.type: (one.status, one.last_transition_time) for one in found}


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    for states, expected in (
        ((UP, UP), "True"),
        ((UP, State()), "False"),
        ((UP, UP.waiting("no")), "False"),
        ((State().running(THEN, is_ready=False),), "False"),
    ):
        found = {one.type: one.status for one in conditions((), states, NOW)}
        assert (found["Ready"], found["ContainersReady"]) == (expected, expected)
        assert found["PodScheduled"] == "True"


def test_a_condition_keeps_its_time_for_as_long_as_it_says_the_same() -> None:
    first = conditions((), (UP,), THEN)
    assert conditions(first, (UP,), NOW) == first
    second = said(conditions(first, (State(),), NOW))
    assert second["Ready"] == ("False", "2026-01-02T03:05:05Z")
    assert second["Initialized"] == ("True", "2026-01-02T03:04:05Z")


@pytest.mark.parametrize(
    "code, shown, reason",
    [(0, 0, "Completed"), (3, 3, "Error"), (-9, 137, "Error"), (-15, 143, "Error")],
)
def test_a_container_that_has_ended_says_how_and_is_started_again(
    code: int, shown: int, reason: str
) -> None:
    ended = UP.crashed(Ending(code=code, began=THEN, ended=NOW), 2.0)
    told = ended.shown(MAIN)
    assert (told["restartCount"], told["ready"]) == (1, False)
    assert told["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 2s restarting failed container",
        }
    }
    assert told["lastState"]["terminated"] == {
        "exitCode": shown,
        "reason": reason,
        "startedAt": "2026-01-02T03:04:05Z",
        "finishedAt": "2026-01-02T03:05:05Z",
    }
    again = ended.running(NOW, is_ready=True).shown(MAIN)
    assert (again["restartCount"], again["state"]) == (
        1,
        {"running": {"startedAt": "2026-01-02T03:05:05Z"}},
    )


def test_a_pod_runs_once_one_of_its_containers_has() -> None:
    ended = UP.crashed(Ending(code=1, began=THEN, ended=NOW), 0.0)
    for state, phase in ((State(), "Pending"), (UP, "Running"), (ended, "Running")):
        assert status("127.1.2.3", (), {MAIN: state}, THEN)["phase"] == phase
