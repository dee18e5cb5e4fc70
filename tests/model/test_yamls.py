"""YAML that somebody hands in is read within bounds, or refused by its place."""

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from isthmus.model import yamls
from isthmus.model.wire import Json
from isthmus.model.yamls import BadYaml, Taken

VALUES = Taken("a file of values", yamls.scalar)
# Nine lines that stand for nine to the ninth values.
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
TOWER = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60))


@pytest.mark.parametrize(
    "text, problem",
    [
        pytest.param(BOMB, "line 6: nested too deeply, or too many values", id="a bomb"),
        pytest.param(TOWER, "nested too deeply, or too many values, for a file", id="a tower"),
        pytest.param("[" * 40, "line 1: nested too deeply", id="deep"),
        pytest.param("a: 1\n---\nb: 2", "line 2: a second document starts; a file of", id="two"),
        pytest.param("a: 1\nb: 2\na: 3", "line 3: the field a is set twice", id="twice"),
        pytest.param("a: !env HOME", "line 1: the tag !env is not taken", id="a tag"),
        pytest.param("a: !!set {b}", "the tag tag:yaml.org,2002:set is not", id="a tag of YAML's"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x", "line 3: << is not taken", id="a merge"),
        pytest.param("a: &x [*x]", "an alias for something that comes later", id="itself"),
        pytest.param("? [a]\n: b", "the name of a field must be text", id="a list as a name"),
        pytest.param("a: b: c", "not valid YAML at line 1, column 5", id="no YAML"),
        pytest.param("a: \x01", "characters that YAML does not allow", id="control"),
    ],
)
def test_what_is_refused_is_named_as_what_it_is(text: str, problem: str) -> None:
    with pytest.raises(BadYaml) as refused:
        yamls.read(text, VALUES)
    assert problem in str(refused.value)


def test_an_alias_is_what_it_stands_for() -> None:
    found = yamls.read("a: &a {b: [1]}\nc: [*a, *a]", VALUES)
    assert found == {"a": {"b": [1]}, "c": [{"b": [1]}, {"b": [1]}]}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", None),
        ("# nothing", None),
        ("3", 3),
        ("'3'", "3"),
        ("!!str 3", "3"),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("yes", True),
        ("no", False),
        ("~", None),
        ("2001-99-99", "2001-99-99"),
        ("1" * 5000, "1" * 5000),
    ],
)
def test_words_mean_what_they_mean_in_yaml(text: str, expected: Json) -> None:
    assert yamls.read(text, VALUES) == expected


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(PLAIN)
def test_what_was_written_is_read(document: Json) -> None:
    assert yamls.read(yaml.safe_dump(document), VALUES) == document


@given(st.text(alphabet="-[]{}:&*!|>%@`,#? ab\n\t'\"<", max_size=60))
def test_no_text_whatever_is_refused_in_other_words(text: str) -> None:
    with suppress(BadYaml):
        yamls.read(text, VALUES)
