"""Patterns mean what RE2 makes of them, and take no longer than that."""

import re
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds.patterns import BadPattern, TooMuchWork, compiled

SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


@pytest.mark.parametrize(
    "pattern, text, expected",
    [
        ("", "", True),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc", True),
        ("^abc$", "abc\n", False),
        (r"\Aabc\Z", "abc", True),
        ("(?m)^b$", "a\nb\nc", True),
        ("^b$", "a\nb\nc", False),
        ("^a.c$", "a\nc", False),
        ("(?s)^a.c$", "a\nc", True),
        ("(?i)^ABC$", "aBc", True),
        ("^(?i:A)b$", "ab", True),
        ("^(?i:A)b$", "aB", False),
        ("^[^a-c]$", "d", True),
        ("^[^a-c]$", "b", False),
        (r"^[\d_]+$", "1_2", True),
        (r"^\d$", "٣", False),
        (r"^\w\W\s\S$", "a- b", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoo b", False),
        (r"\Bo", "fo", True),
        ("^a{2,3}$", "a", False),
        ("^a{2,3}$", "aaa", True),
        ("^a{2,3}$", "aaaa", False),
        ("^a{2,}$", "aaaa", True),
        ("^(a|b|)c$", "c", True),
        ("^(a*)*$", "aaa", True),
        ("^(|a)+$", "aaa", True),
        ("^a??b+?$", "abb", True),
        (SUBDOMAIN, "a-b.c", True),
        (SUBDOMAIN, "a-b.-c", False),
        ("ü", "für", True),
    ],
)
def test_what_matches(pattern: str, text: str, expected: bool) -> None:
    assert compiled(pattern).is_in(text) is expected


@pytest.mark.parametrize(
    "pattern, why",
    [
        pytest.param("(", "missing", id="unbalanced"),
        pytest.param("a**", "multiple repeat", id="repeated twice"),
        pytest.param("(?=a)", "unsupported", id="looking ahead"),
        pytest.param("(?<!a)b", "unsupported", id="looking behind"),
        pytest.param(r"(a)\1", "unsupported", id="what was matched before"),
        pytest.param("(?>a)", "unsupported", id="atomic"),
        pytest.param("a*+", "unsupported", id="possessive"),
        pytest.param("a{1001}", "repeat count", id="counted too far"),
        pytest.param("((a{100}){100}){100}", "too large", id="a product of counts"),
        pytest.param("(((){1000}){1000}){1000}", "too large", id="a product of nothing"),
        pytest.param("(" * 5000 + ")" * 5000, "nests too deeply", id="nested"),
        pytest.param("a" * 6000, "too large", id="long"),
    ],
)
def test_what_is_no_pattern(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        compiled(pattern)


@pytest.mark.parametrize(
    "pattern, text",
    [
        pytest.param("^(a+)+$", "a" * 50_000 + "!", id="nested repetitions"),
        pytest.param("^(a|a)*$", "a" * 50_000 + "!", id="the same alternatives"),
        pytest.param("^" + "a*" * 30 + "$", "a" * 50_000 + "!", id="repetitions in a row"),
        pytest.param(SUBDOMAIN, "a-" * 50_000, id="a sound one"),
        pytest.param("(x+x+)+y", "x" * 50_000, id="not anchored"),
    ],
)
def test_no_text_takes_for_ever(pattern: str, text: str) -> None:
    began = time.process_time()
    assert not compiled(pattern).is_in(text)
    assert time.process_time() - began < 2


def test_work_has_an_end() -> None:
    """A set that is another at every character, and large: nothing is known beforehand."""
    text = "".join(Random(1).choices("ab", k=100_000)) + "!"
    began = time.process_time()
    with pytest.raises(TooMuchWork):
        compiled("a(a|b){900}!c").is_in(text)
    assert time.process_time() - began < 10


PARTS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "^", "$", r"\b", ""]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map("({0[0]}|{0[1]})".format)
        | st.tuples(inner, st.sampled_from("*+?")).map("({0[0]}){0[1]}".format)
        | st.tuples(inner, st.sampled_from(["{2}", "{1,2}", "{0,1}"])).map("({0[0]}){0[1]}".format)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(pattern=PARTS, text=st.text("abc-", max_size=6))
def test_short_patterns_match_as_pythons_do(pattern: str, text: str) -> None:
    assert compiled(pattern).is_in(text) is (re.search(pattern, text) is not None)
