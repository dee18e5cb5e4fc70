"""Numbers as Prometheus reads them."""

import pytest

from isthmus.cli.looking.exposition import NotNumbers, Series, numbers

TEXT = """\
# HELP up Whether it is.
# TYPE up gauge
up 1
up_since{who="a \\"b\\"",what="c"} 2.5
times_bucket{le="+Inf"} 7
other{} 3
uptight 9
broken NaN
"""


def test_what_is_asked_for_is_read_with_its_labels() -> None:
    assert numbers(TEXT, ("up{", "up ", "up_since", "times")) == {
        Series("up", ()): 1.0,
        Series("up_since", (("what", "c"), ("who", 'a "b"'))): 2.5,
        Series("times_bucket", (("le", "+Inf"),)): 7.0,
    }


def test_a_label_is_found_by_its_name() -> None:
    (series,) = numbers(TEXT, ("up_since",))
    assert (series.label("what"), series.label("nothing")) == ("c", "")


def test_what_is_no_number_is_left_out() -> None:
    assert numbers(TEXT, ("broken",)) == {}


@pytest.mark.parametrize(
    "text", ["up one", 'up{who="a} 1', "up", "up\x1b[2J x", 'up{le="x"} 1', "up " + "9" * 400]
)
def test_what_nobody_can_read_is_said_in_one_line(text: str) -> None:
    with pytest.raises(NotNumbers) as raised:
        numbers(text, ("up",))
    assert str(raised.value).isprintable()


def test_a_page_of_something_else_has_no_numbers() -> None:
    assert numbers("<html>hello</html>", ("up",)) == {}
