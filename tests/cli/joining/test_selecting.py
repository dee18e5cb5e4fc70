"""Selectors as they are typed mean what the API's own grammar makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.joining.selecting import BadSelector, selector
from isthmus.embedded.api.labels import requirements
from isthmus.model.selectors import Requirement, Selector


@pytest.mark.parametrize(
    "texts, expected",
    [
        ((), None),
        (("app=web",), Selector(match_labels={"app": "web"})),
        (("app==web", "tier=a"), Selector(match_labels={"app": "web", "tier": "a"})),
        (
            ("a in (x, y),!b,c,d!=e , f notin (g)",),
            Selector(
                match_expressions=(
                    Requirement(key="a", operator="In", values=("x", "y")),
                    Requirement(key="b", operator="DoesNotExist"),
                    Requirement(key="c", operator="Exists"),
                    Requirement(key="d", operator="NotIn", values=("e",)),
                    Requirement(key="f", operator="NotIn", values=("g",)),
                )
            ),
        ),
    ],
)
def test_selectors(texts: tuple[str, ...], expected: Selector | None) -> None:
    assert selector(texts) == expected


@pytest.mark.parametrize("text", ["", "=a", "a=b=c", "a in", "a in (", "a b", "!", "a=b,,c", "(a)"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(BadSelector, match="is not a selector, such as app=web"):
        selector([text])


KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
TERMS = st.one_of(
    KEYS,
    KEYS.map("!{}".format),
    st.builds("{}={}".format, KEYS, VALUES),
    st.builds("{}!={}".format, KEYS, VALUES),
    st.builds("{} in ({})".format, KEYS, st.lists(VALUES, min_size=1).map(", ".join)),
    st.builds("{} notin ({})".format, KEYS, st.lists(VALUES, min_size=1).map(",".join)),
)


@given(
    text=st.lists(TERMS, min_size=1, max_size=4).map(",".join), labels=st.dictionaries(KEYS, VALUES)
)
def test_a_selector_picks_what_the_api_picks(text: str, labels: dict[str, str]) -> None:
    found = selector([text])
    assert found is not None
    assert found.selects(labels) is all(one(labels) for one in requirements(text))
