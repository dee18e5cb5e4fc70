"""Quantities have one stored spelling."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded.kinds.quantities import canonical


@pytest.mark.parametrize(
    "text, stored",
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("100Mi", "100Mi"),
        ("1000", "1k"),
        ("0", "0"),
        ("1e3", "1e3"),
    ],
)
def test_spellings(text: str, stored: str) -> None:
    assert canonical(text) == stored


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "--1"])
def test_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        canonical(text)


@settings(max_examples=50)
@given(st.integers(0, 10**9), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_the_stored_spelling_is_its_own(number: int, suffix: str) -> None:
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once
