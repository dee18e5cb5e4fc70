"""Dates of servers, and what is none."""

from datetime import UTC, datetime

import pytest

from isthmus.kube.dates import http_date


def test_a_date_is_a_moment() -> None:
    assert http_date("Tue, 15 Nov 1994 08:12:31 GMT") == datetime(
        1994, 11, 15, 8, 12, 31, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("yesterday", id="a word"),
        pytest.param("Tue, 15 Nov 1994 08:12:31 -0000", id="of an unknown zone"),
        pytest.param("Tue, 15 Nov 99999999999999999999 08:12:31 GMT", id="a year without end"),
        pytest.param("Tue, 99999999999999999999 Nov 1994 08:12:31 GMT", id="a day without end"),
        pytest.param("Tue, 15 Nov 1994 08:12:31 +99999999999999999999", id="a zone without end"),
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert http_date(text) is None
