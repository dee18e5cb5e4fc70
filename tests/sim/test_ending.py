"""What is said of an end that is not as it should be."""

from tests.sim.ending import Problem, said


def test_what_is_wrong_besides_is_named_with_its_rule() -> None:
    found = [Problem("L3", "link west is stale"), Problem("I11", "east-a still holds 2 objects")]
    assert said(found) == "link west is stale; I11: east-a still holds 2 objects"
