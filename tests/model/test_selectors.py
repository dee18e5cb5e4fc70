"""Label selectors: what they pick, and how they are written for the API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.api.labels import requirements
from isthmus.model.selectors import NOTHING, Requirement, Selector

SHOP = {"team": "shop", "tier": "front"}


def requirement(operator: str, *values: str, key: str = "team") -> Selector:
    one = Requirement(key=key, operator=operator, values=values)  # type: ignore[arg-type]  # text
    return Selector(match_expressions=(one,))


@pytest.mark.parametrize(
    "selector, expected",
    [
        pytest.param(Selector(), False, id="an empty one selects nothing"),
        pytest.param(Selector(match_labels={"team": "shop"}), True, id="an equal label"),
        pytest.param(Selector(match_labels={"team": "bank"}), False, id="another value"),
        pytest.param(
            Selector(match_labels={"other": ""}), False, id="a missing label is not empty"
        ),
        pytest.param(
            Selector(match_labels={"team": "shop", "tier": "back"}),
            False,
            id="every line must hold",
        ),
        pytest.param(requirement("In", "bank", "shop"), True, id="In"),
        pytest.param(requirement("In", "bank"), False, id="not In"),
        pytest.param(requirement("In", "x", key="other"), False, id="In needs the label"),
        pytest.param(requirement("In"), False, id="In nothing"),
        pytest.param(requirement("NotIn", "bank"), True, id="NotIn"),
        pytest.param(requirement("NotIn", "shop"), False, id="not NotIn"),
        pytest.param(requirement("NotIn", "x", key="other"), True, id="NotIn needs no label"),
        pytest.param(requirement("Exists"), True, id="Exists"),
        pytest.param(requirement("Exists", key="other"), False, id="Exists needs the label"),
        pytest.param(requirement("DoesNotExist", key="other"), True, id="DoesNotExist"),
        pytest.param(requirement("DoesNotExist"), False, id="not DoesNotExist"),
        pytest.param(
            Selector(
                match_labels={"team": "shop"},
                match_expressions=(Requirement(key="tier", operator="NotIn", values=("front",)),),
            ),
            False,
            id="labels and expressions together",
        ),
    ],
)
def test_which_services_a_selector_selects(selector: Selector, expected: bool) -> None:
    assert selector.selects(SHOP) is expected


@pytest.mark.parametrize(
    "selector, query",
    [
        pytest.param(Selector(), NOTHING, id="nothing"),
        pytest.param(Selector(match_labels={"b": "2", "a": "1"}), "a=1,b=2", id="labels in order"),
        pytest.param(requirement("In", "x", "y"), "team in (x,y)", id="In"),
        pytest.param(requirement("NotIn", "x"), "team notin (x)", id="NotIn"),
        pytest.param(requirement("Exists"), "team", id="Exists"),
        pytest.param(requirement("DoesNotExist"), "!team", id="DoesNotExist"),
    ],
)
def test_a_selector_is_sent_to_the_server_in_its_own_words(selector: Selector, query: str) -> None:
    assert selector.query == query


@given(labels=st.dictionaries(st.sampled_from(["team", "tier"]), st.sampled_from(["", "a"])))
def test_a_selector_that_says_nothing_selects_nothing(labels: dict[str, str]) -> None:
    assert not Selector().selects(labels)


REQUIREMENTS = st.builds(
    Requirement,
    key=st.sampled_from(["team", "tier"]),
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    values=st.sampled_from([("a",), ("a", "b")]),
)


@given(
    labels=st.dictionaries(st.sampled_from(["team", "tier"]), st.sampled_from(["a", "b", "c"])),
    equal=st.dictionaries(st.sampled_from(["team", "tier"]), st.sampled_from(["a", "b"])),
    others=st.lists(REQUIREMENTS, max_size=2),
)
def test_the_server_understands_a_selector_as_we_do(
    labels: dict[str, str], equal: dict[str, str], others: list[Requirement]
) -> None:
    selector = Selector(match_labels=equal, match_expressions=tuple(others))
    demanded = requirements(selector.query)
    assert all(holds(labels) for holds in demanded) is selector.selects(labels)
