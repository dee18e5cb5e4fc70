"""A line for each goal, whatever was measured: what is missing is said, what is missed is named."""

import pytest

from bench import goals
from bench.growth import Growth
from bench.report import Report
from bench.verdicts import Verdict


def report(*verdicts: Verdict, growths: tuple[Growth, ...] = ()) -> Report:
    return Report(head="", tables=(), verdicts=verdicts, growths=growths)


def verdict(goal: str, *, met: bool) -> Verdict:
    return Verdict(goal=goal, met=met, evidence="so it was")


def line(lines: list[str], promise: str) -> str:
    (found,) = (one for one in lines if promise in one)
    return found


def test_goals_that_nobody_has_measured_are_said_to_be_so() -> None:
    lines = goals.judged({})
    assert len(lines) == len(goals.GOALS) + 1
    assert all(one.startswith("not measured: ") for one in lines)


COLD = "cold mirroring of thousands"


def test_a_goal_holds_if_all_that_is_about_it_holds() -> None:
    few = verdict("1,000 exported Services from a cold start at ≥ 90%", met=True)
    many = verdict("5,000 exported Services from a cold start at ≥ 90%", met=True)
    found = line(goals.judged({"cold": report(few, many)}), COLD)
    assert found.startswith("met: ")


def test_what_misses_a_goal_is_named_and_nothing_else() -> None:
    few = verdict("1,000 exported Services from a cold start at ≥ 90%", met=False)
    many = verdict("5,000 exported Services from a cold start at ≥ 90%", met=True)
    found = line(goals.judged({"cold": report(few, many)}), COLD)
    assert found.startswith(f"MISSED: {COLD} at ≥ 90 % of the floor's rate (1 of 2 hold; ")
    assert "1,000 exported" in found
    assert "5,000 exported" not in found


@pytest.mark.parametrize(
    "about", ["10 pods of one headless Service", "100 exported Services"], ids=["pods", "a few"]
)
def test_what_a_start_takes_most_of_is_no_matter_of_the_goal_but_told(about: str) -> None:
    other = verdict(f"{about} from a cold start at ≥ 90%", met=False)
    lines = goals.judged({"cold": report(other)})
    assert line(lines, COLD).startswith("not measured: ")
    assert about in lines[-1]


def test_growth_is_judged_over_all_parts() -> None:
    points = ((10.0, 10.0), (100.0, 1000.0))
    steep = Growth(what="memory", by="links", unit="MB", points=points)
    assert goals.judged({"links": report(growths=(steep,))})[-1].startswith("MISSED: ")


@pytest.mark.parametrize(
    "met, expected",
    [
        pytest.param([True, True], "besides: 2 of 2 other verdicts hold", id="all hold"),
        pytest.param(
            [True, False],
            "besides: 1 of 2 other verdicts hold; MISSED: the fastest list (so it was)",
            id="what is missed is named",
        ),
    ],
)
def test_what_no_goal_is_about_is_counted_all_the_same(met: list[bool], expected: str) -> None:
    requests = verdict("as requests, 1 KB on 1 connection: level with the best pair", met=met[0])
    fastest = verdict("the fastest list", met=met[1])
    lines = goals.judged({"calls": report(requests), "kube-edge": report(fastest)})
    assert lines[-1] == expected


def test_a_verdict_is_counted_with_its_goal_or_besides_and_never_twice() -> None:
    ours = verdict("as bytes, 1 KB on 1 connection: level with the best pair", met=False)
    lines = goals.judged({"calls": report(ours)})
    assert sum("so it was" in one for one in lines) == 1
    assert not any(one.startswith("besides: ") for one in lines)
