"""The index of hostile inputs names tests that exist, and none of its rows is without."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType

import pytest

from tests.hostile.index import PARTS
from tests.hostile.page import PAGE, written
from tests.hostile.row import Row

ROWS = [row for part in PARTS for row in part.rows]
TESTS = sorted({one for row in ROWS for one in row.tests})


def found(test: str) -> FunctionType | None:
    """Return the function that pytest would collect under a name."""
    file, _, name = test.partition("::")
    module = import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
    function = getattr(module, name.partition("[")[0], None)
    return function if inspect.isfunction(function) else None


def cases(function: FunctionType) -> Iterator[str]:
    """Yield the names that its parameters give to a test, as far as they are written as text."""
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            for value in mark.args[1]:
                yield str(getattr(value, "id", value))


@pytest.mark.parametrize("test", TESTS)
def test_what_the_index_names_is_a_test(test: str) -> None:
    function = found(test)
    assert function is not None, f"there is no tests/{test}"
    case = test.partition("[")[2].removesuffix("]")
    assert not case or case in set(cases(function)), f"{function.__name__} has no case {case!r}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_a_test_at_a_layer_or_says_why_not(row: Row) -> None:
    assert row.tests or row.left_out
    assert row.layers
    assert len(set(row.tests)) == len(row.tests)


def test_every_row_is_there_once_and_none_is_lost() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names) == 75


def test_the_page_shows_the_index_as_it_is() -> None:
    text = PAGE.read_text()
    assert written(text) == text, "write it again: python -m tests.hostile.page"
