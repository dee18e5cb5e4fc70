"""Lines out of pieces: none lost, none endless, none dear."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.runtime.lines import Lines, Overlong

LINES = st.lists(st.binary(max_size=30).map(lambda part: part.replace(b"\n", b"")), max_size=10)


@given(lines=LINES, places=st.lists(st.integers(0, 400), max_size=12))
def test_lines_are_split_and_nothing_is_lost(lines: list[bytes], places: list[int]) -> None:
    data = b"".join(one + b"\n" for one in lines)
    splitter = Lines(100)
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    found = [line for start, end in pairwise(ends) for line in splitter.receive(data[start:end])]
    assert not splitter.is_open
    assert found == [one for one in lines if one]


def test_a_line_of_many_small_pieces_costs_no_more_than_its_length() -> None:
    splitter = Lines(1 << 22)
    body = b"x" * 1_000_000
    for start in range(0, len(body), 16):
        assert list(splitter.receive(body[start : start + 16])) == []
    assert splitter.is_open
    assert list(splitter.receive(b"\n")) == [body]


def test_a_line_that_does_not_end_is_refused() -> None:
    splitter = Lines(10)
    assert list(splitter.receive(b"0123456789\n01234")) == [b"0123456789"]
    with pytest.raises(Overlong):
        list(splitter.receive(b"567890"))
