"""What a controller answers, read by a proxy that has to go on whatever it is."""

import pytest

from isthmus.apps.proxy.asking import LONGEST_WAIT, Got, Unsigned, taken
from isthmus.apps.signed import Current


def test_an_answer_is_taken() -> None:
    got = Got(200, "", b'{"issuer": "a", "anchors": ["b"]}')
    assert taken(Current, got, "controller:8443") == Current("a", ("b",))


@pytest.mark.parametrize(
    "got, said",
    [
        pytest.param(Got(503, "30", b'{"error": "no issuer"}'), "no issuer", id="a refusal"),
        pytest.param(Got(200, "", b"<html>"), "not a controller's", id="something else"),
        pytest.param(Got(200, "", b"[" * 100_000), "not a controller's", id="bottomless"),
        pytest.param(Got(503, "", b'{"error": "\xff"}'), "not a controller's", id="no text"),
        pytest.param(Got(503, "9" * 400, b"{}"), "not a controller's", id="a pause without end"),
    ],
)
def test_anything_else_is_no_certificate(got: Got, said: str) -> None:
    with pytest.raises(Unsigned, match=said) as refused:
        taken(Current, got, "controller:8443")
    assert 0 <= refused.value.retry_after <= LONGEST_WAIT
