"""What Envoy counts, read while it is drained."""

import pytest

from isthmus.envoy.admin import NoAnswer
from isthmus.envoy.process import open_connections

STATS = """\
listener.0.0.0.0_4143.downstream_cx_active: 3
listener.0.0.0.0_4143.worker_0.downstream_cx_active: 3
listener.admin.downstream_cx_active: 1
listener.pages.downstream_cx_active: 1
listener.out.downstream_cx_active: 2
"""


def test_connections_of_callers_are_counted_and_those_of_readers_are_not() -> None:
    assert open_connections(STATS) == 5


@pytest.mark.parametrize("text", ["listener.a: many", "listener.a: ", "no", "listener.a: 9" * 5000])
def test_what_is_no_number_is_no_answer(text: str) -> None:
    with pytest.raises(NoAnswer, match="its statistics are no numbers"):
        open_connections(text)
